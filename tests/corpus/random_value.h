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

// Whether an input is state that begins as a copy of a weight, and such a copy of a float tensor.
inline bool is_copy(const GraphInput& input) { return input.role == InputRole::state && !input.initializer.empty(); }
RefTensor rounded_copy(const RefTensor& tensor, Dtype dtype);

// One for every input of a graph.
std::map<std::string, RefTensor> random_values(const Graph& graph);

}  // namespace stepc::corpus
