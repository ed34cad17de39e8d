#include "ir/ops/pointwise.h"

#include <numbers>

namespace stepc {
namespace {

// y = erf(x); dx = g · 2/√π · exp(-x²)
void vjp(VjpArgs& v) {
  const ValueId x = v.in(0);
  const ValueId slope = v.b.mul(v.b.unary(Op::exp, v.b.neg(v.b.mul(x, x))), 2 * std::numbers::inv_sqrtpi);
  v.set(0, v.b.mul(v.grad(), slope));
}

}  // namespace

constinit const OpDef op_erf{
    .name = "erf",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::erf>,
};

}  // namespace stepc
