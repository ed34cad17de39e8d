#include "ir/ops/pointwise.h"
#include "ir/support/error.h"

#include <numbers>

// Gaussian error linear unit (Hendrycks and Gimpel 2016): x · Φ(x), exactly or with Φ approximated by a tanh.
namespace stepc {
namespace {

constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;

bool is_tanh(const Node& node) { return node.attrs.text("approximate") == "tanh"; }

std::vector<Type> infer(const InferArgs& args) {
  const std::string& approximate = args.attrs.text("approximate");
  if (approximate != "none" && approximate != "tanh")
    user_error("approximate is \"{}\", expected \"none\" or \"tanh\"", approximate);
  return infer_float_unary(args);
}

// none: y = x/2 · (1 + erf(x/√2));  tanh: y = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
ScalarId scalar(ScalarDag& dag, const Node& node, std::span<const ScalarId> operands, Dtype /*result*/) {
  const ScalarId x = operands[0];
  const auto number = [&](double value) { return dag.literal_like(value, x); };
  ScalarId bell;  // in [-1, 1]
  if (is_tanh(node)) {
    const ScalarId cube = dag.mul(dag.mul(x, x), x);
    const ScalarId inner = dag.add(x, dag.mul(number(kCubic), cube));
    bell = dag.unary(ScalarOp::tanh, dag.mul(number(kSqrt2OverPi), inner));
  } else {
    bell = dag.unary(ScalarOp::erf, dag.mul(x, number(1 / std::numbers::sqrt2)));
  }
  return dag.mul(dag.mul(x, number(0.5)), dag.add(number(1), bell));
}

// Φ(x) + x · φ(x), Φ = (1 + erf(x/√2)) / 2, φ = exp(-x²/2) / √(2π)
ValueId exact_slope(Builder& b, ValueId x) {
  const ValueId erf = b.unary(Op::erf, b.mul(x, 1 / std::numbers::sqrt2));
  const ValueId cdf = b.mul(b.add(erf, 1), 0.5);
  const ValueId bell = b.unary(Op::exp, b.mul(b.mul(x, x), -0.5));
  const ValueId pdf = b.mul(bell, std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return b.add(cdf, b.mul(x, pdf));
}

// (1 + t)/2 + x/2 · (1 - t²) · √(2/π) · (1 + 3 · 0.044715 x²), t = tanh(√(2/π) · (x + 0.044715 x³))
ValueId tanh_slope(Builder& b, ValueId x) {
  const ValueId square = b.mul(x, x);
  const ValueId inner = b.mul(b.add(x, b.mul(b.mul(square, x), kCubic)), kSqrt2OverPi);
  const ValueId t = b.unary(Op::tanh, inner);
  const ValueId left = b.mul(b.add(t, 1), 0.5);
  const ValueId inner_slope = b.mul(b.add(b.mul(square, 3 * kCubic), 1), kSqrt2OverPi);
  const ValueId tanh_slope = b.sub(b.scalar_like(1, x), b.mul(t, t));
  return b.add(left, b.mul(b.mul(b.mul(x, 0.5), tanh_slope), inner_slope));
}

// y = x · Φ(x); dx = g · (Φ(x) + x · φ(x)), and with the tanh in the place of Φ likewise
void vjp(VjpArgs& v) {
  const ValueId x = v.in(0);
  v.set(0, v.b.mul(v.grad(), is_tanh(v.node()) ? tanh_slope(v.b, x) : exact_slope(v.b, x)));
}

}  // namespace

constinit const OpDef op_gelu{
    .name = "gelu",
    .kind = OpKind::pointwise,
    .attrs = {{{"approximate", AttrKind::text}}},
    .infer = infer,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
    .decompose = decompose_scalar,
};

}  // namespace stepc
