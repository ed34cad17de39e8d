// decompose: expands the composites that have no kernel at the fusion level into primitives, by each operation's own
// decomposition.
//
//   %y = softmax %x {axis=1}    ->    %m = reduce_max %x, %e = exp(%x - %m), %y = %e / reduce_sum(%e)
//
// It runs twice. Before autodiff, level `off` expands them all: the backward is then that of the primitives, as an
// eager framework would have it. Level `pointwise` expands attention alone, whose own derivative would recompute the
// scores; the other composites have better derivatives than their parts. After autodiff what no kernel carries is
// expanded. What a decomposition makes may be composite again (attention makes softmax), so it is visited too.

#include "ir/builder.h"
#include "ir/kernel.h"
#include "ir/layout.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace stepc {
namespace {

bool is_differentiated(const Graph& graph) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    if (graph.node(id).origin.phase == Phase::backward) return true;
  return false;
}

bool is_expanded(const Graph& graph, NodeId id, FuseLevel level, bool differentiated, const Layouts& layouts) {
  const Op op = graph.node(id).op;
  if (op_def(op).kind != OpKind::composite || op_def(op).decompose == nullptr) return false;
  if (level == FuseLevel::off) return true;
  return differentiated ? why_no_kernel(graph, id, layouts_of(layouts)).has_value() : op == Op::attention;
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

// Layouts are those of the graph before a round; what a round made waits for the next one.
bool expand_round(Graph& graph, FuseLevel level, bool differentiated) {
  const Layouts layouts(graph);
  bool changed = false;
  for (const NodeId id : graph.order()) {
    if (!is_expanded(graph, id, level, differentiated, layouts)) continue;
    expand(graph, id);
    changed = true;
  }
  return changed;
}

bool run(Graph& graph, PassContext& context) {
  const bool differentiated = is_differentiated(graph);
  bool changed = false;
  while (expand_round(graph, context.options.fuse, differentiated)) changed = true;
  return changed;
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_decompose;
const Pass pass_decompose{
    .name = "decompose",
    .summary = "expands the composites that the fusion level has no kernel for",
    .contract = {.breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-4, .required = true},
    .run = run,
};

}  // namespace stepc
