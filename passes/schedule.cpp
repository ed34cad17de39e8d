// schedule: puts the nodes into the order of execution, for a low peak of live memory.
//
// The order of memory/list_schedule.h, or the present one (forward, then backward as autodiff swept it) where that
// peaks lower. What needs the old value of a state after its new one is written gets a copy first
// (memory/old_states.h):
//
//   output output "w" %w      ->      %old = cast %w, output output "w" %old
//   state %w -> %w1                   state %w -> %w1

#include "passes/memory/list_schedule.h"
#include "passes/memory/old_states.h"
#include "passes/pass.h"

#include <algorithm>
#include <span>

namespace stepc {
namespace {

bool keeps_update_last(const Graph& graph, std::span<const NodeId> order) {
  return !graph.accumulates() ||
         std::ranges::is_partitioned(order, [&](NodeId id) { return graph.node(id).origin.phase != Phase::optimizer; });
}

bool run(Graph& graph, PassContext&) {
  // Scheduling its own result may lower the peak once more; each round lowers it, so this ends.
  for (bool changed = keep_old_states(graph);; changed = true) {
    const std::vector<NodeId> present = graph.order();
    const std::vector<NodeId> listed = list_schedule(graph);
    if (keeps_update_last(graph, present) && peak_of(graph, present) <= peak_of(graph, listed)) return changed;
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
