#pragma once

#include "passes/fusion/partition.h"

#include <cstdint>

namespace stepc {

// Joins a contraction and a cluster that reads it where the library adds in passing what the cluster adds. Refused
// where the reader does more than add: it reads the product anyway and adds at no cost.
Refusal try_join_epilogue(const Graph& graph, Partition& partition, NodeId contraction, int32_t reader);

}  // namespace stepc
