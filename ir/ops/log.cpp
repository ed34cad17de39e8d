#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = log(x); dx = g / x
void vjp(VjpArgs& v) { v.set(0, v.b.div(v.grad(), v.in(0))); }

}  // namespace

constinit const OpDef op_log{
    .name = "log",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::log>,
};

}  // namespace stepc
