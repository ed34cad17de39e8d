#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_logical_not{
    .name = "logical_not",
    .kind = OpKind::pointwise,
    .infer = infer_logical,
    .flops = pointwise_flops,
    .scalar = scalar_unary<ScalarOp::logical_not>,
};

}  // namespace stepc
