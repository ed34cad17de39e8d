#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

// The counter that every random mask of the graph takes: a state that grows by 1 with each step.
constexpr std::string_view kOffsetName = "random_offset";

ValueId random_offset(Builder& b) {
  if (const GraphInput* known = b.graph().find_input(kOffsetName)) return known->value;
  const ValueId offset = b.graph().add_input(Type{Dtype::i64, Shape{}}, InputRole::state, std::string(kOffsetName));
  b.graph().add_state(offset, b.add(offset, 1));
  return offset;
}

// Distinct for the nodes of a graph and the same in every run: FNV-1a of the node's name and seed.
int64_t random_key(const OnnxNode& n) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : fmt::format("{}:{}", n.label, n.integer("seed", 0)))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash >> 1);
}

double dropped_ratio(const Lowering& l, const OnnxNode& n) {
  if (n.opset < 12) return n.real("ratio", 0.5);
  return l.has(1) ? l.known_number(1, "the ratio of Dropout") : 0.5;
}

// Training mode is an operand since version 12; before, the node drops whenever training does.
bool drops(const Lowering& l, const OnnxNode& n) {
  if (!l.dropout) return false;
  return n.opset < 12 || (l.has(2) && l.known_integer(2, "the training_mode of Dropout") != 0);
}

// y = kept ? x / (1 − ratio) : 0, kept = ratio <= u, u uniform in [0, 1). The mask has x's dtype before version 10.
void dropout(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const ValueId x = l.in(0);
  const double ratio = drops(l, n) ? dropped_ratio(l, n) : 0;
  if (!(ratio >= 0 && ratio <= 1)) user_error("ratio {} is not in [0, 1]", ratio);
  ValueId kept;
  if (ratio == 0) {
    l.set(0, x);
    if (l.wants(1)) kept = b.full(1, Type{Dtype::boolean, b.shape(x)});
  } else {
    const ValueId uniform =
        b.make(Op::random, {random_offset(b)}, {{"shape", b.shape(x).dims()}, {"key", random_key(n)}});
    kept = b.binary(Op::less_equal, b.scalar(ratio, Dtype::f32), uniform);
    const double scale = ratio < 1 ? 1 / (1 - ratio) : 0;
    l.set(0, b.select(kept, b.mul(x, scale), b.scalar_like(0, x)));
  }
  if (l.wants(1)) l.set(1, n.opset < 10 ? b.cast(kept, b.dtype(x)) : kept);
}

constexpr auto kRules = std::to_array<NamedRule>({{"Dropout", dropout}});

}  // namespace

RuleList dropout_rules() { return kRules; }

}  // namespace stepc::onnx_import
