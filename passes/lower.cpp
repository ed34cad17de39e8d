// lower: expands into primitives the composites that no kernel carries. After it, code generation takes every node.
//
//   %l, %lse = cross_entropy %x, %t    ->    reductions and pointwise nodes
//   %y = softmax %x                          stays: one kernel
//
// It runs after autodiff, so that the derivative is the composite's own (see decompose).

#include "ir/kernel.h"
#include "passes/composites.h"
#include "passes/pass.h"

namespace stepc {
namespace {

bool run(Graph& graph, PassContext&) {
  return expand_composites(graph, [&](NodeId id, const Layouts& layouts) {
    return why_no_kernel(graph, id, layouts_of(layouts)).has_value();
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
