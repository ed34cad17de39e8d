#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

template <Op op>
void binary(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.binary(op, l.in(0), l.in(1)));
}

// a > b is b < a
template <Op op>
void swapped(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.binary(op, l.in(1), l.in(0)));
}

template <Op op>
void unary(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.unary(op, l.in(0)));
}

void where(Lowering& l, const OnnxNode&) { l.set(0, l.b.select(l.in(0), l.in(1), l.in(2))); }

void is_inf(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const ValueId x = l.in(0);
  const ValueId zero = b.scalar_like(0, x);
  const bool negative = n.flag("detect_negative", true);
  const bool positive = n.flag("detect_positive", true);
  const ValueId infinite = b.unary(Op::is_inf, x);
  if (negative && positive) {
    l.set(0, infinite);
  } else if (negative) {
    l.set(0, b.binary(Op::logical_and, infinite, b.binary(Op::less, x, zero)));
  } else if (positive) {
    l.set(0, b.binary(Op::logical_and, infinite, b.binary(Op::less, zero, x)));
  } else {
    l.set(0, b.full(0, Type{Dtype::boolean, b.shape(x)}));
  }
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"And", binary<Op::logical_and>},
    {"Equal", binary<Op::equal>},
    {"Greater", swapped<Op::less>},
    {"GreaterOrEqual", swapped<Op::less_equal>},
    {"IsInf", is_inf},
    {"IsNaN", unary<Op::is_nan>},
    {"Less", binary<Op::less>},
    {"LessOrEqual", binary<Op::less_equal>},
    {"Not", unary<Op::logical_not>},
    {"Or", binary<Op::logical_or>},
    {"Where", where},
    {"Xor", binary<Op::logical_xor>},
});

}  // namespace

RuleList logic_rules() { return kRules; }

}  // namespace stepc::onnx_import
