#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) { return {Type{args.attrs.dtype("to"), args.in(0).shape}}; }

ScalarId scalar(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> x, Dtype result) {
  return dag.cast(x[0], result);
}

// dx = g in the dtype of x; integers and bools on either side stop it
void vjp(VjpArgs& v) {
  if (is_float(v.b.dtype(v.in(0))) && is_float(v.b.dtype(v.out(0)))) v.set(0, v.b.cast(v.grad(), v.b.dtype(v.in(0))));
}

}  // namespace

constinit const OpDef op_cast{
    .name = "cast",
    .kind = OpKind::pointwise,
    .attrs = {{{"to", AttrKind::dtype}}},
    .infer = infer,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
};

}  // namespace stepc
