#include "ir/uniform_constant.h"

#include "ir/ref_tensor.h"

#include <cmath>

namespace stepc {
namespace {

// From 2^53 on an integer's double may be another's too.
constexpr double kExactIntegers = 0x1p53;

std::optional<double> uniform_element(const TensorView& tensor) {
  const int64_t count = tensor.type.shape.numel();
  if (count == 0) return std::nullopt;
  const double first = element(tensor, 0);
  if (is_integer(tensor.type.dtype) && !(std::fabs(first) < kExactIntegers)) return std::nullopt;
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
      // Others change in the cast: 0.1 in f64 is not 0.1 in f32, 2.5 is no integer.
      return number && holds_exactly(graph.dtype(value), *number) ? number : std::nullopt;
    }
    default: return std::nullopt;
  }
}

bool holds_exactly(Dtype dtype, double number) {
  const auto integer_in = [&](double low, double high) {
    return number >= low && number <= high && std::nearbyint(number) == number;
  };
  switch (dtype) {
    case Dtype::i64: return integer_in(-0x1p63, std::nextafter(0x1p63, 0));
    case Dtype::i32: return integer_in(-0x1p31, 0x1p31 - 1);
    case Dtype::i8: return integer_in(-128, 127);
    case Dtype::u8: return integer_in(0, 255);
    case Dtype::boolean: return integer_in(0, 1);
    default: return std::isnan(number) || round_to(dtype, number) == number;
  }
}

}  // namespace stepc
