#pragma once

#include "ir/graph.h"
#include "ir/value_names.h"

#include <string>

namespace stepc {

// What became of an edge between two nodes that each could be in a kernel.
struct FusionVerdict {
  std::string producer, consumer;  // edge_end() of them
  bool fused = false;
  std::string reason;
};

// "op %value": how verdicts and overrides name an end of an edge.
std::string edge_end(const Graph& graph, const ValueNames& names, NodeId node);
std::string edge_end(const Graph& graph, NodeId node);  // numbers all values for it

}  // namespace stepc
