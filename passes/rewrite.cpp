#include "passes/rewrite.h"

#include "ir/op_def.h"

#include <algorithm>
#include <iterator>

namespace stepc {

std::optional<double> splat_constant(const Graph& graph, ValueId v) {
  const Node* node = graph.producer(v);
  while (node != nullptr && op_def(node->op).kind == OpKind::view) node = graph.producer(node->inputs[0]);
  if (node == nullptr || node->op != Op::constant || node->constant->type().shape.numel() != 1) return std::nullopt;
  return element(node->constant->view(), 0);
}

Origin merge_origins(const Origin& base, const Origin& other) {
  Origin merged{base.phase, {}, base.scope};
  std::ranges::set_union(base.onnx, other.onnx, std::back_inserter(merged.onnx));
  return merged;
}

bool erase_if_dead(Graph& graph, NodeId id) {
  std::vector<NodeId> pending{id};
  bool erased = false;
  while (!pending.empty()) {
    const NodeId candidate = pending.back();
    pending.pop_back();
    if (!graph.alive(candidate)) continue;
    const Node& node = graph.node(candidate);
    if (std::ranges::any_of(node.outputs, [&](ValueId output) { return graph.is_used(output); })) continue;
    for (const ValueId input : node.inputs)
      if (input.valid() && graph.value(input).producer.valid()) pending.push_back(graph.value(input).producer);
    graph.erase(candidate);
    erased = true;
  }
  return erased;
}

void replace_node(Graph& graph, NodeId id, ValueId replacement) {
  const ValueId result = graph.node(id).outputs[0];
  if (graph.value(replacement).name.empty()) graph.set_name(replacement, graph.value(result).name);
  graph.replace_uses(result, replacement);
  erase_if_dead(graph, id);
}

}  // namespace stepc
