#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = x · σ(x)
ScalarId scalar(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> x, Dtype /*result*/) {
  return dag.mul(x[0], dag.unary(ScalarOp::sigmoid, x[0]));
}

// y = x · σ(x); dx = g · σ(x) · (1 + x · (1 - σ(x)))
void vjp(VjpArgs& v) {
  const ValueId x = v.in(0);
  const ValueId one = v.b.scalar_like(1, x);
  const ValueId sigmoid = v.b.unary(Op::sigmoid, x);
  const ValueId slope = v.b.mul(sigmoid, v.b.add(v.b.mul(x, v.b.sub(one, sigmoid)), one));
  v.set(0, v.b.mul(v.grad(), slope));
}

}  // namespace

constinit const OpDef op_silu{
    .name = "silu",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
    .decompose = decompose_scalar,
};

}  // namespace stepc
