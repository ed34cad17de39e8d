#pragma once

#include "passes/fusion/partition.h"
#include "passes/fusion/verdict.h"

#include <vector>

namespace stepc {

// Joins each linear_cross_entropy_backward with the loss that it is the gradient of: one kernel then makes the logits
// once for both, where two would each make them. Not where something of the forward still reads the loss, for the joint
// kernel is one of the backward; nor where the gradient of the loss depends on it, a cycle.
void join_losses_with_gradients(const Graph& graph, Partition& partition, std::vector<FusionVerdict>& verdicts);

}  // namespace stepc
