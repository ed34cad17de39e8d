// cse: merges nodes that compute the same thing in the same phase.
//
//   %2 = tanh %1 : f32[4]   forward          %2 = tanh %1 : f32[4]   forward
//   %3 = tanh %1 : f32[4]   forward    ->    %4 = tanh %1 : f32[4]   backward
//   %4 = tanh %1 : f32[4]   backward
//
// The phase is part of a node's identity: merging a backward node with its forward twin would keep a value alive that
// the plan may have chosen to compute again. One walk with a hash table; the earliest node survives, with the ONNX
// names of all unless it is a source: a shared zero would gather the names of half the model. Operands of commutative
// operations are compared without regard to order. Fused nodes are left alone.

#include "ir/op_def.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace stepc {
namespace {

bool is_commutative(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::equal:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor: return true;
    default: return false;
  }
}

// Operands in an order that does not matter to the result.
std::vector<ValueId> identity_operands(const Node& node) {
  std::vector<ValueId> operands = node.inputs;
  if (is_commutative(node.op)) std::ranges::sort(operands);
  return operands;
}

void mix(size_t& hash, size_t value) { hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2); }

size_t hash_text(std::string_view text) { return std::hash<std::string_view>()(text); }

size_t hash_of(const AttrValue& value) {
  size_t hash = value.index();
  if (const auto* flag = std::get_if<bool>(&value)) mix(hash, *flag ? 1 : 0);
  if (const auto* integer = std::get_if<int64_t>(&value)) mix(hash, static_cast<size_t>(*integer));
  if (const auto* real = std::get_if<double>(&value)) mix(hash, std::hash<double>()(*real));
  if (const auto* text = std::get_if<std::string>(&value)) mix(hash, hash_text(*text));
  if (const auto* dtype = std::get_if<Dtype>(&value)) mix(hash, static_cast<size_t>(*dtype));
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    for (const int64_t item : *list) mix(hash, static_cast<size_t>(item));
  return hash;
}

size_t hash_of(const Node& node) {
  size_t hash = static_cast<size_t>(node.op);
  mix(hash, static_cast<size_t>(node.origin.phase));
  for (const ValueId operand : identity_operands(node)) mix(hash, static_cast<size_t>(operand.index));
  for (const auto& [key, value] : node.attrs) mix(hash, hash_of(value));
  if (node.constant) {
    const std::span<const std::byte> bytes = node.constant->bytes();
    mix(hash, hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return hash;
}

bool same(const Node& a, const Node& b) {
  if (a.op != b.op || a.origin.phase != b.origin.phase || a.attrs != b.attrs) return false;
  if (a.constant && *a.constant != *b.constant) return false;
  return identity_operands(a) == identity_operands(b);
}

void merge(Graph& graph, NodeId duplicate, NodeId survivor) {
  const Node& node = graph.node(duplicate);
  if (!node.inputs.empty()) graph.origin(survivor) = merge_origins(graph.node(survivor).origin, node.origin);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId kept = graph.node(survivor).outputs[i];
    if (graph.value(kept).name.empty()) graph.set_name(kept, graph.value(node.outputs[i]).name);
    graph.replace_uses(node.outputs[i], kept);
  }
  graph.erase(duplicate);
}

bool run(Graph& graph, PassContext&) {
  std::unordered_map<size_t, std::vector<NodeId>> seen;
  bool changed = false;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op == Op::fused) continue;
    std::vector<NodeId>& equals = seen[hash_of(node)];
    const auto twin = std::ranges::find_if(equals, [&](NodeId other) { return same(graph.node(other), node); });
    if (twin == equals.end()) {
      equals.push_back(id);
      continue;
    }
    merge(graph, id, *twin);
    changed = true;
  }
  return changed;
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_cse;
const Pass pass_cse{
    .name = "cse",
    .summary = "merges nodes of one phase that compute the same value",
    .contract = {.breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
