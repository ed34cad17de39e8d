#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = log(1 + exp(x)) = max(x, 0) + log1p(e), e = exp(-|x|) in (0, 1]. log1p(e) = log(u) · e / (u - 1) with u = 1 + e,
// and e where u rounds to 1: the rounding errors of u cancel (Kahan; Higham 2002, section 1.14.1).
ScalarId scalar(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> operands, Dtype /*result*/) {
  const ScalarId x = operands[0];
  const ScalarId zero = dag.literal_like(0, x);
  const ScalarId one = dag.literal_like(1, x);
  const ScalarId e = dag.unary(ScalarOp::exp, dag.unary(ScalarOp::neg, dag.unary(ScalarOp::abs, x)));
  const ScalarId u = dag.add(one, e);
  const ScalarId quotient = dag.div(dag.mul(dag.unary(ScalarOp::log, u), e), dag.sub(u, one));
  const ScalarId log1p = dag.select(dag.binary(ScalarOp::equal, u, one), e, quotient);
  return dag.add(dag.binary(ScalarOp::maximum, x, zero), log1p);
}

// y = log(1 + exp(x)); dx = g · σ(x)
void vjp(VjpArgs& v) { v.set(0, v.b.mul(v.grad(), v.b.unary(Op::sigmoid, v.in(0)))); }

}  // namespace

constinit const OpDef op_softplus{
    .name = "softplus",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
    .decompose = decompose_scalar,
};

}  // namespace stepc
