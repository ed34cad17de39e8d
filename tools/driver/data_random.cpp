#include "tools/driver/data_random.h"

#include "ir/support/error.h"
#include "tools/driver/id_limit.h"

#include <random>

namespace stepc {
namespace {

// Values are drawn below it; 1 leaves zeros alone, which every table with a row has.
int64_t draw_limit(const Graph& graph, const GraphInput& input) {
  return id_limit(graph, input.value, Through::selects).value_or(1);
}

}  // namespace

void RandomData::check(const Graph& graph, const LossOptions&) const {
  for (const GraphInput& input : graph.inputs())
    if (is_in_batch(input) && graph.shape(input.value).numel() > 0 && draw_limit(graph, input) == 0)
      user_error("input '{}' indexes a table without rows: no random data fits", input.name);
}

Batch RandomData::batch(const Graph& graph, int64_t index) const {
  std::mt19937_64 random(seed_ * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(index));
  Batch batch;
  for (const GraphInput& input : graph.inputs()) {
    if (!is_in_batch(input)) continue;
    Tensor tensor(graph.type(input.value));
    const Dtype dtype = tensor.type().dtype;
    const bool mask = dtype == Dtype::boolean || input.name.find("mask") != std::string::npos;
    const int64_t limit = is_float(dtype) || mask ? 1 : draw_limit(graph, input);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < tensor.type().shape.numel(); ++i)
      set_element(tensor, i,
                  mask              ? 1
                  : is_float(dtype) ? normal(random)
                                    : static_cast<double>(random() % static_cast<uint64_t>(limit)));
    batch.emplace(input.name, std::move(tensor));
  }
  return batch;
}

std::string RandomData::describe() const {
  return fmt::format("random inputs of seed {} (--data FILE gives real ones)", seed_);
}

}  // namespace stepc
