#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = a · b; da = g · b, db = g · a
void vjp(VjpArgs& v) {
  if (v.needs(0)) set_summed(v, 0, v.b.mul(v.grad(), v.in(1)));
  if (v.needs(1)) set_summed(v, 1, v.b.mul(v.grad(), v.in(0)));
}

}  // namespace

constinit const OpDef op_mul{
    .name = "mul",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::mul>,
};

}  // namespace stepc
