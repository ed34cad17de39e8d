#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// y = max(a, b), NaN if either is; da = a < b ? 0 : a == b ? g/2 : g,
// db likewise; ties share the gradient evenly
void vjp(VjpArgs& v) {
  const ValueId zero = v.b.scalar_like(0, v.grad());
  const ValueId half = v.b.mul(v.grad(), 0.5);
  const ValueId tie = v.b.binary(Op::equal, v.in(0), v.in(1));
  for (const size_t i : {0, 1}) {
    if (!v.needs(i)) continue;
    const ValueId loses = v.b.binary(Op::less, v.in(i), v.in(1 - i));
    set_summed(v, i, v.b.select(loses, zero, v.b.select(tie, half, v.grad())));
  }
}

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
