#pragma once

#include "passes/remat/policy.h"

#include <cstdint>

namespace stepc {

struct Recomputed {
  int64_t values = 0;  // blocks that the backward read and now reads copies of
  int64_t bytes = 0;   // of those
  int64_t nodes = 0;   // copied, views included
  int64_t flops = 0;   // of the copies
};

// Copies the smallest slice of the forward that makes what the backward needs and `kept` does not say is kept, each
// node once and in front of its first reader, in phase recompute; the backward reads the copies. Copies have their
// original's origin, so that they are the same work on the same operands, and by the bit rule the same bits.
// Near-linear in the graph.
Recomputed recompute(Graph& graph, const RematProblem& problem, const RematDecision& kept);

}  // namespace stepc
