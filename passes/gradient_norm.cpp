#include "passes/gradient_norm.h"

#include <numeric>
#include <vector>

namespace stepc {
namespace {

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Adds neighbours until one is left.
ValueId pairwise_sum(Builder& b, std::vector<ValueId> terms) {
  while (terms.size() > 1) {
    std::vector<ValueId> sums;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) sums.push_back(b.add(terms[i], terms[i + 1]));
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}

}  // namespace

ValueId global_norm(Builder& b, std::span<const GraphOutput> gradients) {
  std::vector<ValueId> squares;
  for (const GraphOutput& gradient : gradients) {
    const ValueId g = b.dtype(gradient.value) == Dtype::f64 ? gradient.value : b.cast(gradient.value, Dtype::f32);
    squares.push_back(b.cast(b.reduce_sum(b.mul(g, g), all_axes(b.shape(g)), /*keepdims=*/false), Dtype::f32));
  }
  return b.unary(Op::sqrt, pairwise_sum(b, std::move(squares)));
}

std::vector<GraphOutput> weight_gradients(const Graph& graph) {
  std::vector<GraphOutput> gradients;
  for (const GraphOutput& output : graph.outputs())
    if (output.role == OutputRole::gradient && output.name.starts_with("grad/")) gradients.push_back(output);
  return gradients;
}

}  // namespace stepc
