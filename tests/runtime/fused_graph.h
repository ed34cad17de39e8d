#pragma once

#include "tests/runtime/run_graph.h"

#include <string_view>
#include <vector>

namespace stepc::test {

// A graph at fusion level full beside what it was, compiled.
struct FusedGraph {
  Graph before;  // what was to be fused
  Graph graph;
  Plan plan;
  std::vector<KernelKind> kinds;  // of the launches, in order

  // Outputs on the CPU, each element within `tolerance` of the interpreter's on `before`, relative to the larger of 1
  // and its magnitude; NaN for NaN and equal infinities.
  Tensors run(const Tensors& inputs, double tolerance = 1e-5, int threads = 2) const;
};

// From `lower` to `plan-memory`.
FusedGraph fuse_full(Graph graph);
FusedGraph fuse_full(std::string_view text);
// The training step of a forward graph whose loss is the mean of the squares of its first float output; gradients of
// all float inputs.
FusedGraph fuse_full_step(std::string_view text);

// Values for all inputs of a graph: floats in [-1, 1), integers and booleans 0 or 1.
Tensors values_for(const Graph& graph);

}  // namespace stepc::test
