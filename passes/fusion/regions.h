#pragma once

#include "ir/cost/roofline.h"
#include "ir/graph.h"
#include "passes/fusion/override.h"
#include "passes/fusion/verdict.h"

#include <span>
#include <vector>

namespace stepc {

// Level full of `fuse`: regions of pointwise nodes, views, gathers and reductions over one space of rows become
// kernels.
//
// Three questions are asked of every edge, one after the other. Is it legal: both ends in the same part of the step, no
// path through a third kernel. Can it be emitted: describe_region (ir/kernel.h) finds a loop nest for both together.
// Does it pay: the roofline predicts no more time for the joint kernel than for the two (ir/cost/roofline.h). Where
// joining is refused, a value that its consumer can recompute from what it reads anyway is computed there again.
// Additions that nothing else takes go to the contraction before them. Kernels that share a large operand are joined
// too. Overrides come before all of that: a forced edge is not asked whether it pays, and refused with a UserError
// where it is not legal or cannot be emitted. Returns whether the graph changed.
bool fuse_regions(Graph& graph, const DeviceSpec& device, std::span<const FusionOverride> overrides,
                  std::vector<FusionVerdict>& verdicts);

}  // namespace stepc
