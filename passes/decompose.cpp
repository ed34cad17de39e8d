// decompose: expands composites into primitives before they are differentiated, by each operation's own decomposition.
//
//   %y = softmax %x {axis=1}    ->    %m = reduce_max %x, %e = exp(%x - %m), %y = %e / reduce_sum(%e)
//
// Level `off` expands them all: the backward is then that of the primitives, as an eager framework would have it. Level
// `pointwise` expands attention and linear cross-entropy alone, whose own derivatives would recompute scores and
// logits; the other composites have better derivatives than their parts, and what of them has no kernel is expanded
// after autodiff (pass lower). Level `full` keeps the two where a kernel carries them, attention unless
// --fuse-attention off. What a decomposition makes may be composite again (attention makes softmax), so it is visited
// too.

#include "ir/kernel.h"
#include "passes/composites.h"
#include "passes/pass.h"

namespace stepc {
namespace {

bool run(Graph& graph, PassContext& context) {
  return expand_composites(graph, [&](NodeId id, const Layouts& layouts) {
    const Op op = graph.node(id).op;
    const bool recomputes = op == Op::attention || op == Op::linear_cross_entropy;
    switch (context.options.fuse) {
      case FuseLevel::off: return true;
      case FuseLevel::pointwise: return recomputes;
      case FuseLevel::full:
        return (op == Op::attention && !context.options.fuse_attention) ||
               (recomputes && why_no_kernel(graph, id, layouts_of(layouts)).has_value());
    }
    return false;
  });
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_decompose;
const Pass pass_decompose{
    .name = "decompose",
    .summary = "expands composites that are differentiated as primitives at the fusion level",
    .contract = {.breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-4, .required = true},
    .run = run,
};

}  // namespace stepc
