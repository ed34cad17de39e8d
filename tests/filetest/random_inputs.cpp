#include "tests/filetest/random_inputs.h"

#include <random>

namespace stepc::filetest {

std::map<std::string, RefTensor> random_inputs(const Graph& graph) {
  std::map<std::string, RefTensor> result;
  for (const GraphInput& input : graph.inputs()) {
    std::seed_seq seed(input.name.begin(), input.name.end());
    std::mt19937_64 generator(seed);
    RefTensor tensor(graph.type(input.value));
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
      const bool positive = input.role == InputRole::state || input.role == InputRole::accumulator;
      tensor.set(i, !tensor.is_real() ? static_cast<double>(generator() & 1) : positive ? 2 * unit : 4 * unit - 2);
    }
    tensor.round_to_dtype();
    result.emplace(input.name, std::move(tensor));
  }
  return result;
}

}  // namespace stepc::filetest
