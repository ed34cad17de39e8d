#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = 1/x; dx = -g · y²
void vjp(VjpArgs& v) { v.set(0, v.b.mul(v.b.neg(v.grad()), v.b.mul(v.out(0), v.out(0)))); }

}  // namespace

constinit const OpDef op_reciprocal{
    .name = "reciprocal",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::reciprocal>,
};

}  // namespace stepc
