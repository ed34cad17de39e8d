#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_sign{
    .name = "sign",
    .kind = OpKind::pointwise,
    .infer = infer_number_unary,
    .vjp = vjp_zero,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::sign>,
};

}  // namespace stepc
