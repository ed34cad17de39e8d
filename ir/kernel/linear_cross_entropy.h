#pragma once

#include "ir/kernel.h"

#include <cstdint>
#include <vector>

namespace stepc {

// Whether a node is a loss over a linear layer, its gradients, or a fused node that holds both.
bool is_linear_cross_entropy(const Node& node);

// Tiles, and where things lie in scratch.
void schedule_linear_cross_entropy(LinearCrossEntropyWork& work);

// Where a task finds `reuse_bytes` again in its cache.
KernelTraffic linear_cross_entropy_traffic(const LinearCrossEntropyWork& work, const std::vector<KernelBuffer>& buffers,
                                           int64_t reuse_bytes);

}  // namespace stepc
