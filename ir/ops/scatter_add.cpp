#include "ir/builder.h"
#include "ir/ops/index_space.h"
#include "ir/ops/movement.h"
#include "ir/support/error.h"

// `base` plus each slice of `updates` at its index on `axis`: the inverse of gather. Equal indices accumulate, in
// order.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& base = args.in(0);
  const size_t axis = axis_of(args, base.shape.rank());
  require_indices(args.in(1));
  const Type expected{base.dtype, gather_shape(base.shape, args.in(1).shape, axis)};
  if (base.dtype == Dtype::boolean) user_error("bools cannot be added");
  if (args.in(2) != expected) user_error("updates are {}, expected {}", to_string(args.in(2)), to_string(expected));
  return {base};
}

// dbase = g, dupdates = gather(g, indices)
void vjp(VjpArgs& v) {
  if (v.needs(0)) v.set(0, v.grad());
  if (v.needs(2)) v.set(2, v.b.make(Op::gather, {v.grad(), v.in(1)}, v.node().attrs));
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  out = args.in(0);
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  const AxisView data(out.type.shape, axis);
  const Combine add = combine_of("add", out.type.dtype);
  int64_t k = 0;
  for (int64_t outer = 0; outer < data.outer_count; ++outer)
    for (const int64_t index : args.in(1).integer)
      for (int64_t inner = 0; inner < data.inner_count; ++inner)
        add(out, data.index(outer, resolve_index(index, data.size, axis), inner), args.in(2), k++);
}

}  // namespace

constinit const OpDef op_scatter_add{
    .name = "scatter_add",
    .kind = OpKind::movement,
    .min_inputs = 3,
    .max_inputs = 3,
    .attrs = {{{"axis", AttrKind::integer}}},
    .infer = infer,
    .vjp = vjp,
    .flops = scatter_flops,
    .eval = eval,
};

}  // namespace stepc
