#include "ir/ops/pointwise.h"

namespace stepc {
namespace {

// fmod: the sign of the dividend, as in C. Otherwise the sign of the divisor, as in Python, a zero's too.
ScalarId scalar(ScalarDag& dag, const Node& node, std::span<const ScalarId> x, Dtype /*result*/) {
  const ScalarId remainder = dag.binary(ScalarOp::mod, x[0], x[1]);
  if (node.attrs.flag("fmod")) return remainder;
  const ScalarId zero = dag.literal_like(0, remainder);
  const ScalarId exact = dag.binary(ScalarOp::equal, remainder, zero);
  const ScalarId negative = dag.binary(ScalarOp::less, x[1], zero);
  const ScalarId signs_differ =
      dag.binary(ScalarOp::logical_xor, dag.binary(ScalarOp::less, remainder, zero), negative);
  const ScalarId moved = dag.select(signs_differ, dag.add(remainder, x[1]), remainder);
  const ScalarId signed_zero = dag.select(negative, dag.literal_like(-0.0, remainder), zero);
  return dag.select(exact, signed_zero, moved);
}

// y = a - q · b with an integer q; da = g, db = -g · q;
// q is (a - y) / b but for its rounding
void vjp(VjpArgs& v) {
  const ValueId b = v.in(1);
  if (v.needs(0)) set_summed(v, 0, v.grad());
  if (!v.needs(1)) return;
  const ValueId quotient = v.b.unary(Op::round, v.b.div(v.b.sub(v.in(0), v.out(0)), b));
  set_summed(v, 1, v.b.mul(v.b.neg(v.grad()), quotient));
}

}  // namespace

constinit const OpDef op_mod{
    .name = "mod",
    .kind = OpKind::pointwise,
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = {{{"fmod", AttrKind::boolean, false, 0}}},
    .infer = infer_number_binary,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
};

}  // namespace stepc
