#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <span>
#include <vector>

namespace stepc {

// All nodes in an order of execution with a low peak of live memory: list scheduling over the graph's dependences. Of
// the nodes that are ready, one that frees at least as many arena bytes as it takes, or takes next to nothing, runs at
// once; otherwise the first in the present order does. So an optimizer update follows its gradient, which is thereby
// freed, and nothing large is made before its turn. What takes next to nothing must not be late: every update waits for
// the step's bias corrections, two scalars.
//
// Reads of a state that precede its new value in the present order still do, so that it may be written in place. Where
// the graph accumulates, phase optimizer comes last. O(n log n) in nodes and operands.
std::vector<NodeId> list_schedule(const Graph& graph);

// The largest sum of live bytes outside the persistent region, in this order.
int64_t peak_of(const Graph& graph, std::span<const NodeId> order);

}  // namespace stepc
