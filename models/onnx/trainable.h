#pragma once

#include "ir/graph.h"
#include "models/onnx/load.h"
#include "models/onnx/parameter_names.h"

#include <set>
#include <string>
#include <vector>

namespace stepc::onnx_import {

// Whether an initializer is trained, and why, in words for the user.
struct Decision {
  bool trainable = false;
  std::string reason;
};

// What can be said from the file alone: dtype, size, metadata of the exporter, payload (masks hold huge values).
// Tensors that come out trainable are candidates: the graph may still have no path from them to a float output.
Decision decide_from_file(const StoredTensor& tensor, const ParameterIdentity& identity);

// Weights of the graph that a float output depends on through differentiable operations; one flag per graph input. A
// vector that reaches the outputs only as the frequencies of Cos and Sin (a rotary table) does not count, unless it is
// one of `parameters`, known to be one.
std::vector<bool> inputs_on_gradient_path(const Graph& graph, const std::set<ValueId>& parameters);

}  // namespace stepc::onnx_import
