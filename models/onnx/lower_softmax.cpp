#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

// Since version 13 along one axis (default -1). Before, the operand counts as a matrix whose rows are the dims from
// `axis` (default 1) on, so the sum runs over all of them.
template <Op op>
void softmax(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Shape shape = l.shape(0);
  const size_t rank = shape.rank();
  if (n.opset >= 13) {
    const size_t axis = normalize_axis(n.integer("axis", -1), rank);
    return l.set(0, b.make(op, {l.in(0)}, {{"axis", static_cast<int64_t>(axis)}}));
  }
  // axis = rank is legal there: every row is one element.
  const int64_t given = n.integer("axis", 1);
  const size_t axis = given == static_cast<int64_t>(rank) ? rank : normalize_axis(given, rank);
  const bool last = axis + 1 == rank;
  const ValueId rows =
      last ? l.in(0) : b.reshape(l.in(0), {numel_between(shape, 0, axis), numel_between(shape, axis, rank)});
  const auto row_axis = static_cast<int64_t>(b.shape(rows).rank()) - 1;
  l.set(0, b.reshape(b.make(op, {rows}, {{"axis", row_axis}}), shape));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"LogSoftmax", softmax<Op::log_softmax>},
    {"Softmax", softmax<Op::softmax>},
});

}  // namespace

RuleList softmax_rules() { return kRules; }

}  // namespace stepc::onnx_import
