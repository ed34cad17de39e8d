#pragma once

#include "ir/graph.h"
#include "ir/ref_tensor.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stepc::test {

// Runs a graph on tensors by input name; results by output name.
using Backend =
    std::function<std::map<std::string, RefTensor>(const Graph&, const std::map<std::string, RefTensor>& inputs)>;

std::map<std::string, RefTensor> run_interpreter(const Graph& graph, const std::map<std::string, RefTensor>& inputs);

struct Tolerance {
  double absolute = 1e-7;
  double relative = 1e-3;
};

enum class Outcome : uint8_t {
  pass,
  refused,  // the importer says that it does not take the model, or the case needs what the IR cannot hold
  fail,
};

struct Verdict {
  Outcome outcome{};
  std::string detail;  // why it is not a pass
};

// One case of ONNX's node tests: DIR/model.onnx and DIR/test_data_set_0/{input,output}_N.pb, serialised TensorProtos,
// N the position in graph.input and graph.output. Imports the model, feeds the inputs, and compares every output: dtype
// and shape exactly, elements by |a - b| <= absolute + relative · |b|, NaN equal to NaN.
//
// In these models even the operands that decide shapes are graph inputs. So when a model cannot be imported as it is,
// it is imported once more with such inputs (integers, booleans, single numbers) bound to their values.
Verdict run_node_case(const std::string& directory, const Backend& backend, Tolerance tolerance = {});

}  // namespace stepc::test
