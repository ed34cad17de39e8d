#pragma once

#include "ir/graph.h"
#include "ir/ref_tensor.h"

#include <map>
#include <string>

namespace stepc::filetest {

// Values for every input of a graph, a function of names and types alone. Floats lie in (-2, 2), those of states in
// (0, 2), since second moments are never negative; integers are 0 or 1, so that they may index any axis longer than 1.
std::map<std::string, RefTensor> random_inputs(const Graph& graph);

}  // namespace stepc::filetest
