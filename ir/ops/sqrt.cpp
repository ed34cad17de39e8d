#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = √x; dx = g / (2y)
void vjp(VjpArgs& v) { v.set(0, v.b.div(v.grad(), v.b.mul(v.out(0), 2))); }

}  // namespace

constinit const OpDef op_sqrt{
    .name = "sqrt",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::sqrt>,
};

}  // namespace stepc
