#include "tests/corpus/input_values.h"

#include "passes/options.h"
#include "tests/corpus/random_value.h"
#include "tools/driver/id_limit.h"

namespace stepc::corpus {
namespace {

// Weights that no file gives: as large as those of trained models, and no bias is 0, which would hide its loss.
constexpr double kWeightMagnitude = 0.5;

RefTensor padding_mask(const Type& type) {
  RefTensor mask(type);
  const Shape& shape = type.shape;
  const int64_t row = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  for (int64_t i = 0; i < mask.numel(); ++i) mask.set(i, row > 1 && i % row == row - 1 ? 0 : 1);
  return mask;
}

}  // namespace

const std::map<std::string, RefTensor>& InputValues::of(const Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (!values_.contains(input.name)) values_.emplace(input.name, draw(graph, input));
  return values_;
}

RefTensor InputValues::draw(const Graph& graph, const GraphInput& input) const {
  const Type& type = graph.type(input.value);
  if (is_copy(input)) return rounded_copy(values_.at(input.initializer), type.dtype);
  if (input.role == InputRole::weight && !model_.random_seed) return RefTensor(initial_weight(model_, input).view());
  if (input.role == InputRole::weight) return random_value(graph, input, {.magnitude = kWeightMagnitude});
  if (input.role == InputRole::state || input.role == InputRole::accumulator || is_float(type.dtype))
    return random_value(graph, input);
  if (type.dtype == Dtype::boolean || input.name.find("mask") != std::string::npos) return padding_mask(type);
  RefTensor ids = random_value(graph, input, {.integers = id_limit(graph, input.value, Through::selects).value_or(1)});
  if (input.role == InputRole::label && ids.numel() > 1) ids.set(0, static_cast<double>(LossOptions{}.ignore_index));
  return ids;
}

}  // namespace stepc::corpus
