#pragma once

#include "ir/kernel.h"

#include <optional>

namespace stepc {

// The contraction as library matrix products without copies: labels of one role merge where strides allow it, what does
// not merge becomes a loop. Empty where no choice gives every operand a unit stride, or a label is summed on one side
// only.
std::optional<MatmulWork> plan_matmul(const Graph& graph, const Node& node, const LayoutOf& layouts);

}  // namespace stepc
