#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_ceil{
    .name = "ceil",
    .kind = OpKind::pointwise,
    .infer = infer_float_unary,
    .vjp = vjp_zero,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::ceil>,
};

}  // namespace stepc
