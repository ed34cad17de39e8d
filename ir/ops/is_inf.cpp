#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_is_inf{
    .name = "is_inf",
    .kind = OpKind::pointwise,
    .infer = infer_float_test,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::is_inf>,
};

}  // namespace stepc
