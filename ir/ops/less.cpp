#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_less{
    .name = "less",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_order,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::less>,
};

}  // namespace stepc
