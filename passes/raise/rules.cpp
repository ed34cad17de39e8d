#include "passes/raise/rules.h"

#include <algorithm>

namespace stepc {

bool raise_all(Graph& graph, std::span<const RulesOfOp> table) {
  bool changed = false;
  for (const NodeId id : graph.order()) {
    if (!graph.alive(id)) continue;
    const auto entry = std::ranges::find(table, graph.node(id).op, &RulesOfOp::op);
    if (entry == table.end()) continue;
    changed |= std::ranges::any_of(entry->rules, [&](RaisingRule rule) { return rule != nullptr && rule(graph, id); });
  }
  return changed;
}

}  // namespace stepc
