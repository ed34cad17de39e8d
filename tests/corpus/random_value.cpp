#include "tests/corpus/random_value.h"

#include <random>

namespace stepc::corpus {

RefTensor random_value(const Graph& graph, const GraphInput& input, const ValueRange& range) {
  std::seed_seq seed(input.name.begin(), input.name.end());
  std::mt19937_64 generator(seed);
  const bool positive = input.role == InputRole::state || input.role == InputRole::accumulator;
  RefTensor tensor(graph.type(input.value));
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (input.initial != 0) tensor.set(i, input.initial);
    if (input.initial != 0) continue;
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    if (tensor.is_real())
      tensor.set(i, range.magnitude * (positive ? unit : 2 * unit - 1));
    else
      tensor.set(i, static_cast<double>(generator() % static_cast<uint64_t>(range.integers)));
  }
  tensor.round_to_dtype();
  return tensor;
}

RefTensor rounded_copy(const RefTensor& tensor, Dtype dtype) {
  RefTensor copy = tensor;
  copy.type.dtype = dtype;
  copy.round_to_dtype();
  return copy;
}

std::map<std::string, RefTensor> random_values(const Graph& graph) {
  std::map<std::string, RefTensor> values;
  for (const GraphInput& input : graph.inputs())
    values.emplace(input.name, is_copy(input) ? rounded_copy(values.at(input.initializer), graph.dtype(input.value))
                                              : random_value(graph, input));
  return values;
}

}  // namespace stepc::corpus
