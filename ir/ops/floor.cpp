#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_floor{
    .name = "floor",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp_zero,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::floor>,
};

}  // namespace stepc
