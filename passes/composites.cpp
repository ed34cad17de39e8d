#include "passes/composites.h"

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/rewrite.h"

namespace stepc {
namespace {

bool is_composite(const Node& node) {
  const OpDef& def = op_def(node.op);
  return def.kind == OpKind::composite && def.decompose != nullptr;
}

void expand(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Builder b(graph, node.origin, id);
  const std::vector<ValueId> parts = op_def(node.op).decompose(b, graph, id);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].valid()) continue;
    if (graph.value(parts[i]).name.empty()) graph.set_name(parts[i], graph.value(node.outputs[i]).name);
    graph.replace_uses(node.outputs[i], parts[i]);
  }
  CHECK(erase_if_dead(graph, id), "{} does not decompose whole", op_name(node.op));
}

// What a round makes has no layouts yet and waits for the next one; decompositions are at most three deep. Readers come
// before what they read, so that a node's operands are still those that the layouts know.
bool expand_round(Graph& graph, const std::function<bool(NodeId, const Layouts&)>& expanded) {
  const Layouts layouts(graph);
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!graph.alive(*id) || !is_composite(graph.node(*id)) || !expanded(*id, layouts)) continue;
    expand(graph, *id);
    changed = true;
  }
  return changed;
}

}  // namespace

bool expand_composites(Graph& graph, const std::function<bool(NodeId, const Layouts&)>& expanded) {
  bool changed = false;
  while (expand_round(graph, expanded)) changed = true;
  return changed;
}

}  // namespace stepc
