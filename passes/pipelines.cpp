#include "passes/pipelines.h"

#include "passes/registry.h"

namespace stepc {

std::vector<const Pass*> default_pipeline() {
  std::vector<const Pass*> pipeline;
  const auto add = [&](std::string_view name) { pipeline.push_back(&find_pass(name)); };
  // One form for what exporters write in many, before anything matches patterns. Merged before folded: exporters repeat
  // masks and tables in every layer, and evaluating them once is enough.
  add("canonicalize");
  add("cse");
  add("fold");
  add("cse");
  add("dce");
  // Composites are recognised with the loss in place, so that cross-entropy is one of them, and while all is forward:
  // their derivatives are better than those of their parts.
  add("loss");
  add("raise-aten");
  add("raise-composites");
  add("fuse-loss");
  add("decompose");
  // Before the derivative is taken, so that gradients have the dtypes of their values.
  add("precision");
  // From here on there is a backward. Each pass takes the gradients from the one before: sums over micro-steps are
  // averaged before the norm is taken, and the norm scales what the optimizer sees.
  add("autodiff");
  add("accumulate");
  add("unscale");
  add("clip");
  add("optimizer");
  // Updates exist, which write the 16-bit copies.
  add("copy-weights");
  // What stayed whole for the sake of its derivative and has no kernel of its own comes apart now.
  add("lower");
  // Derivative formulas leave views, neutral factors and repeated work behind, also between forward and backward.
  add("canonicalize");
  add("fold");
  add("cse");
  add("dce");
  // Gradients of embeddings join what they are added to.
  add("scatter-onto");
  // What the user's policy does not keep, then what is cheap: fusion puts it into its readers, and saving it is a
  // waste.
  add("remat");
  add("recompute-cheap");
  // From here on the graph is arranged, not rewritten.
  add("fuse");
  // The kernels of single parameters exist now; the schedule must know which of them are one launch.
  add("multi-tensor");
  add("schedule");
  add("plan-memory");
  return pipeline;
}

std::vector<const Pass*> eager_pipeline() { return {&find_pass("loss"), &find_pass("raise-aten")}; }

}  // namespace stepc
