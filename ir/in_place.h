#pragma once

#include "ir/graph.h"

#include <cstddef>

namespace stepc {

// Whether output `output` of a node may be written over operand `operand`: both have the same type, and every kernel of
// the node has read an element of that operand for the last time when it stores that element of the result. So it is
// for maps, for rows that are reduced first and stored then, for the base of a scatter, and for what is but added to a
// contraction. Kernels load all operands of an element before they store its results, so several outputs may each
// overwrite an operand. Says nothing about lifetimes or layouts: the operand must be row-major and dead afterwards.
bool may_overwrite(const Graph& graph, const Node& node, size_t output, size_t operand);

}  // namespace stepc
