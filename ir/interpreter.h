#pragma once

#include "ir/graph.h"
#include "ir/ref_tensor.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace stepc {

// f32: every node's result is rounded to its dtype, as a machine would store it. f64: floats are never rounded.
enum class RefPrecision : uint8_t { f32, f64 };

struct Interpretation {
  std::map<std::string, RefTensor> outputs;  // by output name
  std::map<std::string, RefTensor> states;   // what the states' inputs become, by input name
  std::map<ValueId, RefTensor> values;       // what `wanted` asked for
};

// The reference interpreter: runs the graph node by node through evaluate_node and frees values after their last use.
// `inputs` by input name; all are needed. Throws UserError for an absent input, an unknown name, another type, and for
// what evaluation finds out of range.
Interpretation interpret(const Graph& graph, const std::map<std::string, RefTensor>& inputs, RefPrecision precision,
                         std::span<const ValueId> wanted = {});

// Runs a graph on operands in the order of its inputs; the results in the order of its outputs. Types are given.
std::vector<RefTensor> run_body(const Graph& body, std::span<const RefTensor* const> operands, bool round_floats);

}  // namespace stepc
