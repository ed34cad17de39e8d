#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = max(a, b), NaN if either is; da = a < b ? 0 : a == b ? g/2 : g,
// db likewise; ties share the gradient evenly
void vjp(VjpArgs& v) { larger_or_smaller_vjp(v, /*larger=*/true); }

}  // namespace

constinit const OpDef op_maximum{
    .name = "maximum",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::maximum>,
};

}  // namespace stepc
