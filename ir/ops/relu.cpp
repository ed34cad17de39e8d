#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

ScalarId scalar(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> x, Dtype /*result*/) {
  return dag.binary(ScalarOp::maximum, x[0], dag.literal_like(0, x[0]));
}

// y = max(x, 0); dx = y <= 0 ? 0 : g
// (PyTorch's threshold_backward: a NaN passes the gradient on)
void vjp(VjpArgs& v) {
  const ValueId zero = v.b.scalar_like(0, v.grad());
  v.set(0, v.b.select(v.b.binary(Op::less_equal, v.out(0), zero), zero, v.grad()));
}

}  // namespace

constinit const OpDef op_relu{
    .name = "relu",
    .kind = OpKind::pointwise,
    .infer = infer_number_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
    .decompose = decompose_scalar,
};

}  // namespace stepc
