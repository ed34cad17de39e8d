#pragma once

#include "ir/kernel.h"

#include <optional>
#include <span>
#include <vector>

namespace stepc {

// A contraction and what is added to it, element by element, before anything else reads it: Σ a·b + Σ addends.
struct Product {
  const Node* contraction = nullptr;
  ValueId a, b;
  std::vector<ValueId> addends;  // of shapes that broadcast to the result's
  ValueId result;
};

// What some nodes of a graph compute, where that is one product: a contraction, and if it is f32 additions one after
// the other, each of one more value from elsewhere to a result of the contraction's shape.
std::optional<Product> product_of(const Graph& graph, std::span<const NodeId> nodes);

// The product of a contraction, or of a fused node of nothing else, over the operands and the result of the node.
std::optional<Product> product_of(const Graph& graph, NodeId node);

// The product as library matrix products without copies: labels of one role merge where strides allow it, what does
// not merge becomes a loop. Empty where no choice gives every matrix a unit stride, or a label is summed on one side
// only.
std::optional<MatmulWork> plan_matmul(const Graph& graph, const Product& product, const LayoutOf& layouts);

}  // namespace stepc
