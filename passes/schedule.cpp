// schedule: puts the nodes into the order of execution, for a low peak of live memory.
//
// The order of memory/list_schedule.h, or the present one (forward, then backward as autodiff swept it) where that
// peaks lower.

#include "ir/layout.h"
#include "passes/memory/list_schedule.h"
#include "passes/pass.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace stepc {
namespace {

bool keeps_update_last(const Graph& graph, std::span<const NodeId> order) {
  return !graph.accumulates() ||
         std::ranges::is_partitioned(order, [&](NodeId id) { return graph.node(id).origin.phase != Phase::optimizer; });
}

// Whether every state's old value is read for the last time before its new one is made.
bool reads_old_states_first(const Graph& graph, const Layouts& layouts, std::span<const NodeId> order) {
  std::map<ValueId, NodeId> writers;  // of each state's block
  for (const StatePair& state : graph.states()) writers[state.input] = graph.value(state.output).producer;
  std::set<NodeId> done;
  for (const NodeId id : order) {
    for (const ValueId operand : graph.node(id).inputs)
      if (operand.valid())
        if (const auto writer = writers.find(layouts.block(operand)); writer != writers.end())
          if (done.contains(writer->second)) return false;
    done.insert(id);
  }
  return true;
}

bool is_admissible(const Graph& graph, const Layouts& layouts, std::span<const NodeId> order) {
  return keeps_update_last(graph, order) && reads_old_states_first(graph, layouts, order);
}

bool run(Graph& graph, PassContext&) {
  // Scheduling its own result may lower the peak once more; each round lowers it, so this ends.
  for (bool changed = false;; changed = true) {
    const std::vector<NodeId> present = graph.order();
    const std::vector<NodeId> listed = list_schedule(graph);
    const Layouts layouts(graph);
    const bool may_stay = is_admissible(graph, layouts, present) || !is_admissible(graph, layouts, listed);
    if (may_stay && peak_of(graph, present) <= peak_of(graph, listed)) return changed;
    for (const NodeId id : listed) graph.move_before(id, kNoNode);
  }
}

constexpr Fact kBreaks[] = {Fact::planned};
constexpr Fact kProvides[] = {Fact::scheduled};

}  // namespace

extern const Pass pass_schedule;
const Pass pass_schedule{
    .name = "schedule",
    .summary = "orders the nodes for execution with a low peak of live memory",
    .contract = {.breaks = kBreaks, .provides = kProvides, .required = true},
    .run = run,
};

}  // namespace stepc
