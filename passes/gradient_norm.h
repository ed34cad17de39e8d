#pragma once

#include "ir/builder.h"

#include <span>

namespace stepc {

// sqrt(Σ over the outputs Σ g²), in f32 or wider: squares are summed per gradient, the sums pairwise, so that the error
// grows with the logarithm of their number.
ValueId global_norm(Builder& b, std::span<const GraphOutput> gradients);

// The gradient outputs of trainable weights, in the order of the outputs.
std::vector<GraphOutput> weight_gradients(const Graph& graph);

}  // namespace stepc
