#include "ir/uniform_constant.h"

#include "ir/ref_tensor.h"

#include <cmath>

namespace stepc {
namespace {

// A cast changes the number unless the target holds it exactly: 0.1 in f64 is not 0.1 in f32, 2.5 is no integer.
bool holds(Dtype dtype, double number) {
  return is_float(dtype) ? round_to(dtype, number) == number : std::nearbyint(number) == number;
}

std::optional<double> uniform_element(const TensorView& tensor) {
  const int64_t count = tensor.type.shape.numel();
  if (count == 0) return std::nullopt;
  const double first = element(tensor, 0);
  for (int64_t i = 1; i < count; ++i)
    if (element(tensor, i) != first) return std::nullopt;
  return first;
}

}  // namespace

std::optional<double> uniform_constant(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  if (node == nullptr || graph.shape(value).numel() == 0) return std::nullopt;
  switch (node->op) {
    case Op::constant: return uniform_element(node->constant->view());
    case Op::expand:
    case Op::reshape: return uniform_constant(graph, node->inputs[0]);
    case Op::cast: {
      const std::optional<double> number = uniform_constant(graph, node->inputs[0]);
      return number && holds(graph.dtype(value), *number) ? number : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace stepc
