#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

template <Op op>
void unary(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.unary(op, l.in(0)));
}

template <Op op>
void binary(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.binary(op, l.in(0), l.in(1)));
}

template <Op op>
ValueId fold_operands(const Lowering& l) {
  ValueId result = l.in(0);
  for (size_t i = 1; i < l.inputs(); ++i) result = l.b.binary(op, result, l.in(i));
  return result;
}

template <Op op>
void variadic(Lowering& l, const OnnxNode&) {
  l.set(0, fold_operands<op>(l));
}

void mean(Lowering& l, const OnnxNode&) {
  const ValueId sum = fold_operands<Op::add>(l);
  l.set(0, l.b.div(sum, l.b.scalar_like(static_cast<double>(l.inputs()), sum)));
}

// The result has the base's dtype (operands may differ since version 12). An integer base under a fractional exponent
// is computed in float64 and truncated.
void pow(Lowering& l, const OnnxNode&) {
  Builder& b = l.b;
  const Dtype base = l.type(0).dtype;
  const Dtype exponent = l.type(1).dtype;
  const Dtype computed = !is_float(base) && is_float(exponent) ? Dtype::f64 : base;
  l.set(0, b.cast(b.binary(Op::pow, b.cast(l.in(0), computed), b.cast(l.in(1), computed)), base));
}

// The result has the divisor's sign, or with fmod the dividend's.
void mod(Lowering& l, const OnnxNode& n) {
  const bool fmod = n.flag("fmod", false);
  if (!fmod && n.opset < 28 && is_float(l.type(0).dtype))
    refuse_attribute("fmod", "0", "1 for floating point operands before opset 28");
  l.set(0, l.b.make(Op::mod, {l.in(0), l.in(1)}, {{"fmod", fmod}}));
}

void tan(Lowering& l, const OnnxNode&) { l.set(0, l.b.div(l.b.unary(Op::sin, l.in(0)), l.b.unary(Op::cos, l.in(0)))); }

// Bounds are attributes before version 11, operands from then on; either may be absent.
void clip(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  ValueId result = l.in(0);
  const auto bound = [&](std::string_view key, size_t operand) {
    if (n.opset >= 11) return l.in(operand);
    return n.has(key) ? b.scalar_like(n.real(key, 0), result) : kNoValue;
  };
  if (const ValueId low = bound("min", 1); low.valid()) result = b.binary(Op::maximum, result, low);
  if (const ValueId high = bound("max", 2); high.valid()) result = b.binary(Op::minimum, result, high);
  l.set(0, result);
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Abs", unary<Op::abs>},
    {"Add", binary<Op::add>},
    {"Ceil", unary<Op::ceil>},
    {"Clip", clip},
    {"Cos", unary<Op::cos>},
    {"Div", binary<Op::div>},
    {"Erf", unary<Op::erf>},
    {"Exp", unary<Op::exp>},
    {"Floor", unary<Op::floor>},
    {"Log", unary<Op::log>},
    {"Max", variadic<Op::maximum>},
    {"Mean", mean},
    {"Min", variadic<Op::minimum>},
    {"Mod", mod},
    {"Mul", binary<Op::mul>},
    {"Neg", unary<Op::neg>},
    {"Pow", pow},
    {"Reciprocal", unary<Op::reciprocal>},
    {"Round", unary<Op::round>},
    {"Sign", unary<Op::sign>},
    {"Sin", unary<Op::sin>},
    {"Sqrt", unary<Op::sqrt>},
    {"Sub", binary<Op::sub>},
    {"Sum", variadic<Op::add>},
    {"Tan", tan},
});

}  // namespace

RuleList arithmetic_rules() { return kRules; }

}  // namespace stepc::onnx_import
