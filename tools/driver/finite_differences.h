#pragma once

#include "tools/driver/comparison.h"
#include "tools/driver/data.h"
#include "tools/driver/model.h"

#include <cstdint>
#include <vector>

namespace stepc {

// The gradients of a step (its outputs grad/... and gradin/...) against central differences of its loss, all in f64 on
// the reference interpreter: for each differentiated input x, one random direction d of unit length,
//   (L(x + h·d) − L(x − h·d)) / 2h  and  Σ g·d.
std::vector<Difference> check_finite_differences(const Model& model, const Graph& graph, const Batch& batch,
                                                 uint64_t seed);

}  // namespace stepc
