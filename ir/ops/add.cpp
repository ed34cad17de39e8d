#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = a + b; da = g, db = g
void vjp(VjpArgs& v) {
  if (v.needs(0)) set_summed(v, 0, v.grad());
  if (v.needs(1)) set_summed(v, 1, v.grad());
}

}  // namespace

constinit const OpDef op_add{
    .name = "add",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::add>,
};

}  // namespace stepc
