#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = 1/√x; dx = -g/2 · y³
void vjp(VjpArgs& v) {
  const ValueId y = v.out(0);
  v.set(0, v.b.mul(v.b.mul(v.grad(), -0.5), v.b.mul(y, v.b.mul(y, y))));
}

}  // namespace

constinit const OpDef op_rsqrt{
    .name = "rsqrt",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::rsqrt>,
};

}  // namespace stepc
