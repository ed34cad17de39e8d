#include "ir/ops/view.h"
#include "ir/support/error.h"

namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Shape shape(args.attrs.integers("shape"));
  if (!broadcasts_to(args.in(0).shape, shape))
    user_error("{} does not broadcast to {}", to_string(args.in(0).shape), to_string(shape));
  return {Type{args.in(0).dtype, shape}};
}

// dx = g summed over the broadcast axes
void vjp(VjpArgs& v) { v.set(0, v.b.sum_to(v.grad(), v.b.shape(v.in(0)))); }

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  read_strided(out, args.in(0), 0, broadcast_strides(args.in(0).type.shape, out.type.shape));
}

}  // namespace

constinit const OpDef op_expand{
    .name = "expand",
    .kind = OpKind::view,
    .attrs = {{{"shape", AttrKind::integers}}},
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
};

}  // namespace stepc
