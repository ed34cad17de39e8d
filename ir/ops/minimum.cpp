#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = min(a, b), NaN if either is; da = a > b ? 0 : a == b ? g/2 : g,
// db likewise; ties share the gradient evenly
void vjp(VjpArgs& v) { larger_or_smaller_vjp(v, /*larger=*/false); }

}  // namespace

constinit const OpDef op_minimum{
    .name = "minimum",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::minimum>,
};

}  // namespace stepc
