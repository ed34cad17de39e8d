#pragma once

#include "ir/graph.h"
#include "passes/options.h"

#include <cstdint>
#include <optional>

namespace stepc {

// FLOPs of attention's own contractions in one forward and backward, QKᵀ and P·V with their gradients: what 6N leaves
// out. Softmax and what kernels recompute are not in it.
struct AttentionFlops {
  int64_t all_pairs = 0;            // of every query with every key
  std::optional<int64_t> unmasked;  // of the pairs that limits and masks let through; empty where a mask is data
};

// Of a forward graph in which attention is one node (after raise-composites); nothing where it has none.
std::optional<AttentionFlops> attention_flops(const Graph& graph, const TrainOptions& options);

}  // namespace stepc
