#pragma once

#include "ir/kernel.h"

namespace stepc {

// describe_kernel as a loop nest, of a convolution or contraction that no library is to carry.
Kernel describe_loops(const Graph& graph, NodeId node, const LayoutOf& layouts);

}  // namespace stepc
