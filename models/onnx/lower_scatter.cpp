#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

// Since version 16 (add, mul) and 18 (min, max) updates can be combined with what they hit; before, they replace it.
std::string reduction(const OnnxNode& n) {
  const std::string text = n.text("reduction", "none");
  if (text != "none" && text != "add" && text != "mul" && text != "min" && text != "max")
    refuse_attribute("reduction", text, "none, add, mul, min, max");
  return text;
}

void scatter_elements(Lowering& l, const OnnxNode& n) {
  const size_t axis = normalize_axis(n.integer("axis", 0), l.shape(0).rank());
  l.set(0, l.b.make(Op::scatter_elements, {l.in(0), l.in(1), l.in(2)},
                    {{"axis", static_cast<int64_t>(axis)}, {"reduction", reduction(n)}}));
}

void scatter_nd(Lowering& l, const OnnxNode& n) {
  l.set(0, l.b.make(Op::scatter_nd, {l.in(0), l.in(1), l.in(2)}, {{"reduction", reduction(n)}}));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Scatter", scatter_elements},  // its name in versions 9 and 10
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
});

}  // namespace

RuleList scatter_rules() { return kRules; }

}  // namespace stepc::onnx_import
