#include "ir/ops/pointwise.h"
#include "ir/uniform_constant.h"

namespace stepc {
namespace {

// By multiplication where e is the constant 2 or 3; as in PyTorch, 0 where e = 0
ValueId base_gradient(VjpArgs& v) {
  const ValueId x = v.in(0);
  const ValueId e = v.in(1);
  const std::optional<double> constant = uniform_constant(v.graph(), e);
  if (constant == 1) return v.grad();
  if (constant == 2) return v.b.mul(v.grad(), v.b.mul(x, 2));
  if (constant == 3) return v.b.mul(v.grad(), v.b.mul(v.b.mul(x, x), 3));
  const ValueId power = v.b.binary(Op::pow, x, constant ? v.b.scalar_like(*constant - 1, e) : v.b.add(e, -1));
  if (constant) return v.b.mul(v.grad(), v.b.mul(power, *constant));
  const ValueId zero = v.b.scalar_like(0, e);
  return v.b.mul(v.grad(), v.b.select(v.b.binary(Op::equal, e, zero), zero, v.b.mul(e, power)));
}

// 0 where x = 0 and e >= 0
ValueId exponent_gradient(VjpArgs& v) {
  const ValueId zero = v.b.scalar_like(0, v.in(0));
  const ValueId vanishes =
      v.b.binary(Op::logical_and, v.b.binary(Op::equal, v.in(0), zero), v.b.binary(Op::less_equal, zero, v.in(1)));
  const ValueId slope = v.b.mul(v.out(0), v.b.unary(Op::log, v.in(0)));
  return v.b.mul(v.grad(), v.b.select(vanishes, zero, slope));
}

// y = x^e; dx = g · e · x^(e-1), de = g · y · log(x)
void vjp(VjpArgs& v) {
  const bool constant_result = uniform_constant(v.graph(), v.in(1)) == 0;
  if (v.needs(0) && !constant_result) set_summed(v, 0, base_gradient(v));
  if (v.needs(1)) set_summed(v, 1, exponent_gradient(v));
}

}  // namespace

constinit const OpDef op_pow{
    .name = "pow",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar_binary<ScalarOp::pow>,
};

}  // namespace stepc
