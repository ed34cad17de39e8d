#pragma once

#include "passes/fusion/partition.h"

#include <optional>
#include <string>

namespace stepc {

// Joins a contraction and a cluster that reads it where the library adds in passing what the cluster adds. A cluster
// that does more reads the result anyway and adds at no cost. Returns why not, if so.
std::optional<std::string> why_no_epilogue(const Graph& graph, Partition& partition, NodeId contraction,
                                           int32_t reader);

}  // namespace stepc
