#include "tests/onnx_node/node_case.h"

#include "ir/interpreter.h"
#include "ir/support/error.h"
#include "models/onnx/import.h"
#include "models/onnx/tensors.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace stepc::test {
namespace {

using Tensors = std::map<std::string, Tensor>;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) user_error("{}: cannot be read", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename Message>
Message parse_file(const std::string& path) {
  Message message;
  if (!message.ParseFromString(read_file(path))) user_error("{}: not the expected protobuf message", path);
  return message;
}

// The values of the case by name, for the inputs or the outputs of the graph. Inputs that are initializers too have no
// file; an omitted optional input has an empty one.
template <typename ValueInfos>
Tensors read_values(const std::string& directory, std::string_view kind, const ValueInfos& infos) {
  Tensors values;
  onnx_import::TensorReader reader(directory);
  for (int i = 0; i < infos.size(); ++i) {
    const std::string path = fmt::format("{}/test_data_set_0/{}_{}.pb", directory, kind, i);
    if (!infos[i].type().has_tensor_type()) user_error("{} '{}' is not a tensor", kind, infos[i].name());
    if (!std::filesystem::exists(path)) continue;
    const auto message = parse_file<onnx::TensorProto>(path);
    const TensorView view = reader.read(message);
    values.emplace(infos[i].name(), onnx_import::convert(view, view.type.dtype));
  }
  return values;
}

struct NodeCase {
  Tensors inputs, outputs;
};

NodeCase read_case(const std::string& directory) {
  const auto model = parse_file<onnx::ModelProto>(directory + "/model.onnx");
  return {read_values(directory, "input", model.graph().input()),
          read_values(directory, "output", model.graph().output())};
}

// Whether a value may decide a shape, so that it has to be known when the model is imported.
bool may_decide_shapes(const Tensor& tensor) {
  return !is_float(tensor.type().dtype) || tensor.type().shape.numel() == 1;
}

ImportedModel import_case(const std::string& directory, const NodeCase& node_case, bool bind) {
  ImportOptions options;
  options.compute_f32 = false;
  for (const auto& [name, tensor] : node_case.inputs) {
    options.input_shapes.emplace(name, tensor.type().shape.dims());
    if (bind && may_decide_shapes(tensor)) options.constant_inputs.emplace(name, tensor);
  }
  return import_onnx(directory + "/model.onnx", options);
}

std::optional<ImportedModel> import_case(const std::string& directory, const NodeCase& node_case,
                                         std::string& refusal) {
  for (const bool bind : {false, true}) {
    try {
      return import_case(directory, node_case, bind);
    } catch (const UserError& error) {
      refusal = error.what();
    }
  }
  return std::nullopt;
}

Values operands_of(const ImportedModel& model, const NodeCase& node_case) {
  Values operands;
  for (const GraphInput& input : model.graph.inputs()) {
    const auto given = node_case.inputs.find(input.name);
    if (given != node_case.inputs.end()) {
      operands.emplace(input.name, RefTensor(given->second.view()));
      continue;
    }
    operands.emplace(input.name, RefTensor(model.graph.type(input.value)));  // states begin at zero
    for (const Initializer& initializer : model.initializers)
      if (initializer.initializer == input.initializer && initializer.data)
        operands.at(input.name) = RefTensor(*initializer.data);
  }
  return operands;
}

bool close(double a, double b, Tolerance tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
}

std::optional<std::string> difference(const RefTensor& got, const Tensor& expected, Tolerance tolerance) {
  const RefTensor want(expected.view());
  if (got.type != want.type) return fmt::format("is {} instead of {}", to_string(got.type), to_string(want.type));
  for (int64_t i = 0; i < want.numel(); ++i)
    if (!close(got.at(i), want.at(i), tolerance))
      return fmt::format("element {} is {} instead of {}", i, got.at(i), want.at(i));
  return std::nullopt;
}

// A case that was imported, or why it was not.
struct LoadedCase {
  std::string refusal;
  Tensors expected;
  std::optional<ImportedModel> model;
  Values operands;
};

LoadedCase load_case(const std::string& directory) {
  LoadedCase loaded;
  try {
    NodeCase node_case = read_case(directory);
    loaded.model = import_case(directory, node_case, loaded.refusal);
    if (loaded.model) loaded.operands = operands_of(*loaded.model, node_case);
    loaded.expected = std::move(node_case.outputs);
  } catch (const UserError& error) {
    loaded.refusal = error.what();
  }
  return loaded;
}

Verdict judge(const RunResult& result, const Tensors& expected, Tolerance tolerance) {
  if (!result.error.empty()) return {Outcome::fail, result.error};
  for (const auto& [name, tensor] : expected) {
    const auto found = result.outputs.find(name);
    if (found == result.outputs.end()) return {Outcome::fail, fmt::format("output '{}' is missing", name)};
    if (const auto why = difference(found->second, tensor, tolerance))
      return {Outcome::fail, fmt::format("output '{}' {}", name, *why)};
  }
  return {Outcome::pass, {}};
}

}  // namespace

std::vector<RunResult> run_interpreter(std::span<const GraphRun> runs) {
  std::vector<RunResult> results;
  for (const GraphRun& run : runs) try {
      results.push_back({interpret(run.graph, run.inputs, RefPrecision::f32).outputs, {}});
    } catch (const std::exception& error) {
      results.push_back({{}, error.what()});
    }
  return results;
}

std::vector<Verdict> run_node_cases(std::span<const std::string> directories, const Backend& backend,
                                    Tolerance tolerance) {
  std::deque<LoadedCase> cases;
  std::vector<GraphRun> runs;
  for (const std::string& directory : directories) {
    const LoadedCase& loaded = cases.emplace_back(load_case(directory));
    if (loaded.model) runs.push_back({loaded.model->graph, loaded.operands});
  }
  const std::vector<RunResult> results = backend(runs);
  std::vector<Verdict> verdicts;
  size_t ran = 0;
  for (const LoadedCase& loaded : cases)
    verdicts.push_back(loaded.model ? judge(results[ran++], loaded.expected, tolerance)
                                    : Verdict{Outcome::refused, loaded.refusal});
  return verdicts;
}

}  // namespace stepc::test
