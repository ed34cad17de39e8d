// lower: expands into primitives the composites that no kernel carries. After it, code generation takes every node.
//
//   %l, %lse = cross_entropy %x, %t    ->    reductions and pointwise nodes
//   %y = softmax %x                          stays: one kernel
//
// At fusion level full a composite that is a loop nest comes apart as well: fusion makes one kernel of its parts again,
// and of its neighbours with them.
//
// It runs after autodiff, so that the derivative is the composite's own (see decompose).

#include "ir/kernel.h"
#include "passes/composites.h"
#include "passes/pass.h"

namespace stepc {
namespace {

bool run(Graph& graph, PassContext& context) {
  const bool regions = context.options.fuse == FuseLevel::full;
  return expand_composites(graph, [&](NodeId id, const Layouts& layouts) {
    const Op op = graph.node(id).op;
    const bool is_region = op != Op::attention && op != Op::attention_backward && op != Op::linear_cross_entropy &&
                           op != Op::linear_cross_entropy_backward;
    return (regions && is_region) || why_no_kernel(graph, id, layouts_of(layouts)).has_value();
  });
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_lower;
const Pass pass_lower{
    .name = "lower",
    .summary = "expands composites that no kernel carries",
    .contract = {.breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-4, .required = true},
    .run = run,
};

}  // namespace stepc
