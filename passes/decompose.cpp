// decompose: expands the composites that the fusion level has no kernel for into primitives, by each operation's own
// decomposition. Neither `off` nor `pointwise` has one for any composite; GELU and SiLU are pointwise, not composite.
//
//   %y = softmax %x {axis=1}    ->    %m = reduce_max %x, %e = exp(%x - %m), %y = %e / reduce_sum(%e)
//
// What a decomposition makes may be composite again (attention makes softmax), so new nodes are visited too.

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace stepc {
namespace {

bool has_kernel(Op op, FuseLevel level) {
  switch (level) {
    case FuseLevel::off:
    case FuseLevel::pointwise: return op_def(op).kind != OpKind::composite;
  }
  return true;
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

bool run(Graph& graph, PassContext& context) {
  bool changed = false;
  for (NodeId id = graph.first(); id.valid();) {
    const Node& node = graph.node(id);
    if (has_kernel(node.op, context.options.fuse) || op_def(node.op).decompose == nullptr) {
      id = graph.next(id);
      continue;
    }
    const NodeId before = graph.previous(id);
    expand(graph, id);
    id = before.valid() ? graph.next(before) : graph.first();
    changed = true;
  }
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
