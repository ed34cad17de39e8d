#pragma once

#include "ir/graph.h"

#include <cstddef>

namespace stepc {

// Whether output `output` of a node may be written over operand `operand`: the node is a map (one element of every
// result from the same element of that operand, read nowhere else), and both have the same type. Kernels load all
// operands of an element before they store its results, so several outputs may each overwrite an operand. Says nothing
// about lifetimes or layouts: the operand must be row-major and dead afterwards.
bool may_overwrite(const Graph& graph, const Node& node, size_t output, size_t operand);

}  // namespace stepc
