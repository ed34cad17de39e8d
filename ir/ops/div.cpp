#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = a / b (integers truncate toward zero); da = g / b, db = -g · ((a / b) / b)
void vjp(VjpArgs& v) {
  const ValueId a = v.in(0);
  const ValueId b = v.in(1);
  if (v.needs(0)) set_summed(v, 0, v.b.div(v.grad(), b));
  if (v.needs(1)) set_summed(v, 1, v.b.mul(v.b.neg(v.grad()), v.b.div(v.b.div(a, b), b)));
}

}  // namespace

constinit const OpDef op_div{
    .name = "div",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::div>,
};

}  // namespace stepc
