#pragma once

#include "ir/graph.h"
#include "ir/ref_tensor.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace stepc::test {

using Values = std::map<std::string, RefTensor>;

struct GraphRun {
  const Graph& graph;
  const Values& inputs;
};
struct RunResult {
  Values outputs;
  std::string error;  // why there are none
};

// Runs graphs, all of them at once so that what they need can be compiled together; one result for each.
using Backend = std::function<std::vector<RunResult>(std::span<const GraphRun>)>;

std::vector<RunResult> run_interpreter(std::span<const GraphRun> runs);
// The default pipeline without its training passes, then the CPU's kernels.
std::vector<RunResult> run_cpu(std::span<const GraphRun> runs);

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

// Cases of ONNX's node tests, each a directory DIR: DIR/model.onnx and DIR/test_data_set_0/{input,output}_N.pb,
// serialised TensorProtos, N the position in graph.input and graph.output. Imports the model, feeds the inputs, and
// compares every output: dtype and shape exactly, elements by |a - b| <= absolute + relative · |b|, NaN equal to NaN.
//
// In these models even the operands that decide shapes are graph inputs. So when a model cannot be imported as it is,
// it is imported once more with such inputs (integers, booleans, single numbers) bound to their values.
std::vector<Verdict> run_node_cases(std::span<const std::string> directories, const Backend& backend,
                                    Tolerance tolerance = {});

}  // namespace stepc::test
