#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = |x|; dx = g · sign(x)
void vjp(VjpArgs& v) { v.set(0, v.b.mul(v.grad(), v.b.unary(Op::sign, v.in(0)))); }

}  // namespace

constinit const OpDef op_abs{
    .name = "abs",
    .kind = OpKind::pointwise,
    .infer = infer_number_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::abs>,
};

}  // namespace stepc
