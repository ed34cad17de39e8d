#pragma once

#include "ir/convolution.h"
#include "ir/einsum.h"
#include "ir/kernel.h"

#include <optional>

namespace stepc {

// Kernels that are no loop nests, label left to the caller.
Kernel describe_scan(const Graph& graph, const Node& node, const LayoutOf& layouts);
Kernel describe_top_k(const Graph& graph, const Node& node, const LayoutOf& layouts);
Kernel describe_scatter(const Graph& graph, const Node& node, const LayoutOf& layouts);
// attention and attention_backward. Throws Untraceable for what their kernels do not carry.
Kernel describe_attention(const Graph& graph, const Node& node, const LayoutOf& layouts);
// is_linear_cross_entropy (linear_cross_entropy.h). Likewise; with its label.
Kernel describe_linear_cross_entropy(const Graph& graph, const Node& node, const LayoutOf& layouts);

// Empty where the library does not carry it: operands that are not row-major, more than three spatial dims.
std::optional<ConvolutionWork> plan_convolution(const Graph& graph, const Node& node, const LayoutOf& layouts);

}  // namespace stepc
