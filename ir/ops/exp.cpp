#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = exp(x); dx = g · y
void vjp(VjpArgs& v) { v.set(0, v.b.mul(v.grad(), v.out(0))); }

}  // namespace

constinit const OpDef op_exp{
    .name = "exp",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::exp>,
};

}  // namespace stepc
