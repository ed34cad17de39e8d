// scatter-onto: a scatter into zeros that is added to another value scatters onto that value.
//
//   %s = scatter_add %zeros, %i, %u      ->      %y = scatter_add %g, %i, %u
//   %y = add %g, %s
//
// The gradient of an embedding then needs no table of its own: it joins that of a tied head, or what accumulates over
// micro-steps, in place where nothing else reads that. One walk.

#include "ir/builder.h"
#include "ir/op_def.h"
#include "passes/fusion/step_part.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace stepc {
namespace {

// Whether a value is a scatter into zeros that only one node reads.
bool is_lone_scatter(const Graph& graph, ValueId value) {
  const Node* producer = graph.producer(value);
  return producer != nullptr && producer->op == Op::scatter_add && graph.value(value).uses.size() == 1 &&
         !graph.is_output(value) && splat_constant(graph, producer->inputs[0]) == 0;
}

bool try_rewrite(Graph& graph, NodeId id) {
  const Node& sum = graph.node(id);
  if (sum.op != Op::add) return false;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId scattered = sum.inputs[k], onto = sum.inputs[1 - k];
    if (!is_lone_scatter(graph, scattered) || graph.type(onto) != graph.type(scattered)) continue;
    const Node& scatter = *graph.producer(scattered);
    if (part_of_step(scatter.origin.phase) != part_of_step(sum.origin.phase)) continue;
    Builder b(graph, merge_origins(scatter.origin, sum.origin), id);
    replace_node(graph, id, b.make(Op::scatter_add, {onto, scatter.inputs[1], scatter.inputs[2]}, scatter.attrs));
    return true;
  }
  return false;
}

bool run(Graph& graph, PassContext&) {
  bool changed = false;
  for (const NodeId id : graph.order()) changed = (graph.alive(id) && try_rewrite(graph, id)) || changed;
  return changed;
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_scatter_onto;
const Pass pass_scatter_onto{
    .name = "scatter-onto",
    .summary = "scatters onto what a scatter's result is added to",
    .contract = {.breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-5},
    .run = run,
};

}  // namespace stepc
