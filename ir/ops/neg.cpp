#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = -x; dx = -g
void vjp(VjpArgs& v) { v.set(0, v.b.neg(v.grad())); }

}  // namespace

constinit const OpDef op_neg{
    .name = "neg",
    .kind = OpKind::pointwise,
    .infer = infer_number_unary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::neg>,
};

}  // namespace stepc
