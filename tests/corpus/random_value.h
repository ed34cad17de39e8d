#pragma once

#include "ir/graph.h"
#include "ir/ref_tensor.h"

#include <cstdint>
#include <map>
#include <string>

namespace stepc::corpus {

// Floats lie in (-magnitude, magnitude), integers in [0, integers).
struct ValueRange {
  double magnitude = 2;
  int64_t integers = 2;  // two ids index any axis longer than 1
};

// A value for a graph input, a function of its name, type and role alone. States and accumulators are not negative, as
// second moments never are.
RefTensor random_value(const Graph& graph, const GraphInput& input, const ValueRange& range = {});

// One for every input of a graph.
std::map<std::string, RefTensor> random_values(const Graph& graph);

}  // namespace stepc::corpus
