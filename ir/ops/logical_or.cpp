#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_logical_or{
    .name = "logical_or",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_logical,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::logical_or>,
};

}  // namespace stepc
