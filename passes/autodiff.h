#pragma once

#include "passes/pass.h"

#include <functional>
#include <vector>

namespace stepc {

// Told after each VJP of the reverse sweep: the node that was differentiated, the gradient of one of its operands, and
// the node limit from before its VJP (nodes at or above it are new).
using VjpListener = std::function<void(NodeId node, ValueId operand_gradient, int32_t node_limit_before)>;

// Differentiates the output of role loss; gradients become outputs `grad/<initializer>` and `gradin/<input>`. With a
// listener the VJP of a node is built once per differentiated operand, so that what each formula reads is seen apart.
// Throws UserError that lists every operation without a derivative on a needed path.
void differentiate(Graph& graph, PassContext& context, const VjpListener& listener = nullptr);

// Per value index: whether the value is a float that depends on an input which the options differentiate.
std::vector<bool> differentiated_values(const Graph& graph, const TrainOptions& options);

}  // namespace stepc
