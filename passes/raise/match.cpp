#include "passes/raise/match.h"

#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace stepc {
namespace {

// How far an exporter's constant may be from the number it stands for.
double rounding_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 0x1p-10;
    case Dtype::bf16: return 0x1p-7;
    default: return 1e-6;
  }
}

void multiply_into(const Graph& graph, ValueId v, bool root, Product& product) {
  if (const std::optional<double> number = splat_constant(graph, v)) {
    product.factor *= *number;
    return;
  }
  const Node* node = root || read_once(graph, v) ? graph.producer(v) : nullptr;
  if (node != nullptr && node->op == Op::mul) {
    multiply_into(graph, node->inputs[0], false, product);
    multiply_into(graph, node->inputs[1], false, product);
    return;
  }
  if (node != nullptr && node->op == Op::neg) {
    product.factor = -product.factor;
    return multiply_into(graph, node->inputs[0], false, product);
  }
  if (node != nullptr && (node->op == Op::div || node->op == Op::pow)) {
    const std::optional<double> right = splat_constant(graph, node->inputs[1]);
    if (right && node->op == Op::div) {
      product.factor /= *right;
      return multiply_into(graph, node->inputs[0], false, product);
    }
    if (right && (*right == 2 || *right == 3)) {
      product.values.insert(product.values.end(), static_cast<size_t>(*right), node->inputs[0]);
      return;
    }
  }
  product.values.push_back(v);
}

}  // namespace

const Node* made_by(const Graph& graph, ValueId v, Op op) {
  const Node* node = v.valid() ? graph.producer(v) : nullptr;
  return node != nullptr && node->op == op ? node : nullptr;
}

bool read_once(const Graph& graph, ValueId v) { return graph.value(v).uses.size() == 1 && !graph.is_output(v); }

bool read_only_by(const Graph& graph, ValueId v, std::initializer_list<NodeId> readers) {
  return !graph.is_output(v) && std::ranges::all_of(graph.value(v).uses, [&](const Use& use) {
    return std::ranges::find(readers, use.node) != readers.end();
  });
}

const Node* part(const Graph& graph, ValueId v, Op op) {
  return v.valid() && read_once(graph, v) ? made_by(graph, v, op) : nullptr;
}

bool is_number(const Graph& graph, ValueId v, double expected) {
  const std::optional<double> number = splat_constant(graph, v);
  return number && std::abs(*number - expected) <= rounding_of(graph.dtype(v)) * std::abs(expected);
}

std::vector<std::pair<ValueId, ValueId>> both_orders(const Node& node) {
  return {{node.inputs[0], node.inputs[1]}, {node.inputs[1], node.inputs[0]}};
}

Product product_of(const Graph& graph, ValueId v) {
  Product product;
  multiply_into(graph, v, /*root=*/true, product);
  std::ranges::sort(product.values);
  return product;
}

std::optional<Shifted> shifted(const Graph& graph, ValueId v) {
  const Node* sum = made_by(graph, v, Op::add);
  if (sum == nullptr) return std::nullopt;
  for (const auto& [value, number] : both_orders(*sum))
    if (const std::optional<double> constant = splat_constant(graph, number)) return Shifted{value, *constant};
  return std::nullopt;
}

std::optional<TrailingMean> trailing_mean_of(const Graph& graph, ValueId v) {
  const Product product = product_of(graph, v);
  if (product.values.size() != 1) return std::nullopt;
  const Node* sum = part(graph, product.values[0], Op::reduce_sum);
  if (sum == nullptr || !sum->attrs.flag("keepdims")) return std::nullopt;
  const Shape& shape = graph.shape(sum->inputs[0]);
  std::vector<int64_t> axes = sum->attrs.integers("axes");
  std::ranges::sort(axes);
  double count = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[axes.size() - 1 - i] != static_cast<int64_t>(shape.rank() - 1 - i)) return std::nullopt;
    count *= static_cast<double>(shape[static_cast<size_t>(axes[i])]);
  }
  const bool mean = std::abs(product.factor * count - 1) <= rounding_of(graph.dtype(v));
  if (axes.empty() || !mean) return std::nullopt;
  return TrailingMean{sum->inputs[0], static_cast<size_t>(axes[0])};
}

Origin covered_origin(const Graph& graph, NodeId root, const std::vector<ValueId>& leaves) {
  Origin origin = graph.node(root).origin;
  std::set<NodeId> seen;
  std::vector<NodeId> pending{root};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!seen.insert(id).second) continue;
    origin = merge_origins(origin, graph.node(id).origin);
    for (const ValueId input : graph.node(id).inputs) {
      const bool covered =
          input.valid() && graph.value(input).producer.valid() && std::ranges::find(leaves, input) == leaves.end();
      if (covered) pending.push_back(graph.value(input).producer);
    }
  }
  return origin;
}

}  // namespace stepc
