#include "ir/ops/view.h"
#include "ir/support/error.h"

namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const size_t rank = args.in(0).shape.rank();
  const Dims& perm = per_axis(args, "perm", rank);
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)])
      user_error("perm [{}] is no permutation of {} axes", fmt::join(perm, ","), rank);
    seen[static_cast<size_t>(axis)] = true;
  }
  return {Type{args.in(0).dtype, permute(args.in(0).shape, perm)}};
}

// Axis i of the result is axis perm[i] of x; dx = transpose(g, perm⁻¹)
void vjp(VjpArgs& v) { v.set(0, v.b.transpose(v.grad(), inverse_permutation(v.node().attrs.integers("perm")))); }

void eval(const EvalArgs& args) {
  const Dims own = row_major_strides(args.in(0).type.shape);
  Dims strides;
  for (const int64_t axis : args.node.attrs.integers("perm")) strides.push_back(own[static_cast<size_t>(axis)]);
  read_strided(args.outputs[0], args.in(0), 0, strides);
}

}  // namespace

constinit const OpDef op_transpose{
    .name = "transpose",
    .kind = OpKind::view,
    .attrs = {{{"perm", AttrKind::integers}}},
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
};

}  // namespace stepc
