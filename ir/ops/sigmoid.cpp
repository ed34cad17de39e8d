#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = σ(x) = 1/(1 + exp(-x)); dx = g · (1 - y) · y
void vjp(VjpArgs& v) {
  const ValueId one = v.b.scalar_like(1, v.grad());
  v.set(0, v.b.mul(v.b.mul(v.grad(), v.b.sub(one, v.out(0))), v.out(0)));
}

}  // namespace

constinit const OpDef op_sigmoid{
    .name = "sigmoid",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::sigmoid>,
};

}  // namespace stepc
