// dce: removes nodes none of whose results is read.
//
//   %2 = exp %1 : f32[4]      (unused)     ->
//   %3 = tanh %1 : f32[4]                     %3 = tanh %1 : f32[4]
//
// Inputs stay: they are the graph's interface. One sweep from the end suffices, since uses follow definitions.

#include "passes/pass.h"

#include <algorithm>

namespace stepc {
namespace {

bool run(Graph& graph, PassContext&) {
  bool changed = false;
  for (NodeId id = graph.last(); id.valid();) {
    const NodeId previous = graph.previous(id);
    if (std::ranges::none_of(graph.node(id).outputs, [&](ValueId output) { return graph.is_used(output); })) {
      graph.erase(id);
      changed = true;
    }
    id = previous;
  }
  return changed;
}

constexpr Fact kBreaks[] = {Fact::planned};

}  // namespace

extern const Pass pass_dce;
const Pass pass_dce{
    .name = "dce",
    .summary = "removes nodes whose results nobody reads",
    .contract = {.breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
