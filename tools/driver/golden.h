#pragma once

#include "tools/driver/comparison.h"
#include "tools/driver/io/npz.h"
#include "tools/driver/session.h"

#include <map>
#include <string>
#include <vector>

namespace stepc {

// What PyTorch computed for a model: loss, out/NAME, grad/PARAMETER, gradin/INPUT, and in/NAME and label that it was
// computed from.
struct Golden {
  std::string path;
  Npz arrays;
  bool has_label() const { return arrays.find("label") != nullptr; }
  bool has_input_gradients() const;
  double largest_gradient() const;  // over all parameters
};

// How an initializer of a model holds a parameter of the golden file: "same", "T" (transposed), "1+" (one was added),
// "reshape", "-exp", "rows[:n]".
struct ParameterRelation {
  std::string parameter;
  std::string relation = "same";
};
using ParameterMap = std::map<std::string, ParameterRelation>;  // by initializer

// Reads the entry of `model_name` from a file { model: { "map": { initializer: [parameter, relation, ...] } } }.
ParameterMap read_parameter_map(const std::string& path, const std::string& model_name);

struct GoldenComparison {
  std::vector<Difference> differences;
  std::vector<std::string> notes;  // which gradients were not compared, or as what
};

// Compares the outputs of one finished step with the golden file. Without an entry in `map` an initializer is taken for
// the parameter of its recovered name, or that of its values, or its transpose by shape.
GoldenComparison compare_with_golden(const Golden& golden, const ParameterMap& map, const Graph& graph,
                                     const Backend& backend, const Tolerance& tolerance);

}  // namespace stepc
