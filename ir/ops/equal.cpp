#include "ir/ops/pointwise.h"

namespace stepc {

constinit const OpDef op_equal{
    .name = "equal",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_broadcast_bool,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::equal>,
};

}  // namespace stepc
