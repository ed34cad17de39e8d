#include "ir/builder.h"
#include "ir/einsum.h"
#include "passes/canonicalize/rules.h"
#include "passes/rewrite.h"

namespace stepc {
namespace {

// Labels of x where y = transpose(x, perm) has `labels`.
std::string labels_before(const std::string& labels, const std::vector<int64_t>& perm) {
  std::string before(labels.size(), ' ');
  for (size_t i = 0; i < perm.size(); ++i) before[static_cast<size_t>(perm[i])] = labels[i];
  return before;
}

// Labels of transpose(x, perm) where x has `labels`.
std::string labels_after(const std::string& labels, const std::vector<int64_t>& perm) {
  std::string after;
  for (const int64_t axis : perm) after += labels[static_cast<size_t>(axis)];
  return after;
}

}  // namespace

bool absorb_operand_transpose(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  EinsumSpec spec = parse_einsum(node.attrs.text("spec"));
  bool changed = false;
  for (size_t i = 0; i < 2; ++i) {
    const NodeId producer = graph.value(node.inputs[i]).producer;
    if (!producer.valid() || graph.node(producer).op != Op::transpose) continue;
    const Node& transpose = graph.node(producer);
    std::string& labels = i == 0 ? spec.a : spec.b;
    labels = labels_before(labels, transpose.attrs.integers("perm"));
    graph.origin(id) = merge_origins(node.origin, transpose.origin);
    graph.set_attr(id, "spec", to_string(spec));
    graph.set_operand(id, i, transpose.inputs[0]);
    erase_if_dead(graph, producer);
    changed = true;
  }
  return changed;
}

bool absorb_result_transpose(Graph& graph, NodeId id) {
  const Node& transpose = graph.node(id);
  const ValueId product = transpose.inputs[0];
  const NodeId producer = graph.value(product).producer;
  if (!producer.valid() || graph.node(producer).op != Op::contraction) return false;
  if (graph.value(product).uses.size() != 1 || graph.is_output(product)) return false;
  const Node& contraction = graph.node(producer);
  EinsumSpec spec = parse_einsum(contraction.attrs.text("spec"));
  spec.result = labels_after(spec.result, transpose.attrs.integers("perm"));
  Builder b(graph, merge_origins(contraction.origin, transpose.origin), producer);
  const ValueId absorbed = b.make(Op::contraction, contraction.inputs, with_spec(contraction.attrs, to_string(spec)));
  replace_node(graph, id, absorbed);
  return true;
}

}  // namespace stepc
