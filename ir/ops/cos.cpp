#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = cos(x); dx = -g · sin(x)
void vjp(VjpArgs& v) { v.set(0, v.b.neg(v.b.mul(v.grad(), v.b.unary(Op::sin, v.in(0))))); }

}  // namespace

constinit const OpDef op_cos{
    .name = "cos",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::cos>,
};

}  // namespace stepc
