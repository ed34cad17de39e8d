#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>

// Sequences exist only while importing: a list of values. Exporters write x.chunk(n)[i] as SplitToSequence, SequenceAt.
namespace stepc::onnx_import {
namespace {

constexpr int64_t kLargestSequence = 65536;  // each part is a node

// Without `split` the parts have size 1 and lose the axis unless keepdims; a scalar gives the size of all parts but the
// last, a list gives every size.
void split_to_sequence(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const size_t axis = normalize_axis(n.integer("axis", 0), l.shape(0).rank());
  const int64_t dim = l.shape(0)[axis];
  std::vector<int64_t> sizes;
  if (l.has(1) && l.shape(1).rank() == 1) {
    sizes = l.known_integers(1, "the sizes of SplitToSequence");
  } else {
    const int64_t chunk = l.has(1) ? l.known_integer(1, "the size of SplitToSequence") : 1;
    if (chunk <= 0) user_error("parts of {} elements", chunk);
    if (dim / chunk > kLargestSequence) user_error("a sequence of {} parts is not supported", dim / chunk);
    for (int64_t start = 0; start < dim; start += chunk) sizes.push_back(std::min(chunk, dim - start));
  }
  std::vector<ValueId> parts = split_along(b, l.in(0), axis, sizes);
  if (!l.has(1) && !n.flag("keepdims", true))
    for (ValueId& part : parts) part = b.squeeze(part, axis);
  l.set_list(0, std::move(parts));
}

void sequence_at(Lowering& l, const OnnxNode&) {
  const std::vector<ValueId>& parts = l.list(0);
  const int64_t position = l.known_integer(1, "the position of SequenceAt");
  l.set(0, parts[normalize_axis(position, parts.size())]);
}

void sequence_construct(Lowering& l, const OnnxNode&) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < l.inputs(); ++i) parts.push_back(l.in(i));
  l.set_list(0, std::move(parts));
}

void sequence_empty(Lowering& l, const OnnxNode&) { l.set_list(0, {}); }

void sequence_length(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.constant(Tensor::of_i64(std::array{static_cast<int64_t>(l.list(0).size())}, Shape{})));
}

// Before `position`, at the end when absent.
void sequence_insert(Lowering& l, const OnnxNode&) {
  std::vector<ValueId> parts = l.list(0);
  const int64_t end = static_cast<int64_t>(parts.size());
  const size_t at = l.has(2) ? normalize_axis(l.known_integer(2, "the position of SequenceInsert"), parts.size() + 1)
                             : static_cast<size_t>(end);
  parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), l.in(1));
  l.set_list(0, std::move(parts));
}

void concat_from_sequence(Lowering& l, const OnnxNode& n) {
  std::vector<ValueId> parts = l.list(0);
  if (parts.empty()) user_error("an empty sequence cannot be concatenated");
  const bool stack = n.flag("new_axis", false);
  const size_t axis = normalize_axis(n.integer("axis", 0), l.b.shape(parts[0]).rank() + (stack ? 1 : 0));
  if (stack)
    for (ValueId& part : parts) part = l.b.unsqueeze(part, axis);
  l.set(0, l.b.concat(std::move(parts), axis));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"ConcatFromSequence", concat_from_sequence},
    {"SequenceAt", sequence_at},
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},
    {"SequenceInsert", sequence_insert},
    {"SequenceLength", sequence_length},
    {"SplitToSequence", split_to_sequence},
});

}  // namespace

RuleList sequence_rules() { return kRules; }

}  // namespace stepc::onnx_import
