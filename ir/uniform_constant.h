#pragma once

#include "ir/graph.h"

#include <optional>

namespace stepc {

// The number that every element of a value is, where it is a constant with equal elements, seen through expand, reshape
// and cast: `x ** 2` arrives as pow(x, constant) in all of these guises. Nothing for other values, for empty ones, and
// for integers that a double does not tell from their neighbours.
std::optional<double> uniform_constant(const Graph& graph, ValueId value);

// Whether the dtype has exactly this number (bool: 0 and 1). Every float dtype has the infinities and NaN.
bool holds_exactly(Dtype dtype, double number);

}  // namespace stepc
