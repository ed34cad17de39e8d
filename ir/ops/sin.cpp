#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = sin(x); dx = g · cos(x)
void vjp(VjpArgs& v) { v.set(0, v.b.mul(v.grad(), v.b.unary(Op::cos, v.in(0)))); }

}  // namespace

constinit const OpDef op_sin{
    .name = "sin",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::sin>,
};

}  // namespace stepc
