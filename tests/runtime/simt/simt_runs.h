#pragma once

#include "tests/runtime/run_graph.h"

namespace stepc::test {

// Runs a graph's CUDA kernels on the SIMT target in every order of threads: expects no finding, the same bits, and
// what the reference interpreter makes of it. The tolerance is relative to the largest element of each result, and to
// `least` where that is smaller; `half` where the graph reads 16-bit floats, whose products are rounded on
// their way.
struct SimtTolerance {
  double f32 = 2e-5, half = 2e-2, least = 0.1;
};
void expect_simt_agrees(const Graph& graph, const Tensors& inputs, const SimtTolerance& tolerance = {});

}  // namespace stepc::test
