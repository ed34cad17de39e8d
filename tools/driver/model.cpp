#include "tools/driver/model.h"

#include "ir/support/error.h"
#include "models/zoo/random_weights.h"
#include "models/zoo/zoo.h"
#include "tools/driver/dump.h"

#include <charconv>
#include <filesystem>

namespace stepc {
namespace {

std::vector<std::string> globs(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : std::vector{text};
}

ImportOptions import_options(const DriverOptions& options, const std::map<std::string, Dims>& input_shapes) {
  ImportOptions import;
  import.dims = options.dims;
  import.input_shapes = input_shapes;
  import.trainable = globs(options.trainable);
  import.frozen = globs(options.frozen);
  import.dropout = options.train.dropout;
  return import;
}

// A graph from text has no file behind it: its weights are named by the text alone.
ImportedModel import_text(const std::string& path) {
  ImportedModel import;
  import.graph = read_graph(path);
  import.producer = "text";
  import.weights_present = false;
  for (const GraphInput& input : import.graph.inputs())
    if (input.role == InputRole::weight)
      import.initializers.push_back({input.initializer.empty() ? input.name : input.initializer,
                                     input.name,
                                     import.graph.type(input.value),
                                     input.trainable,
                                     input.trainable ? "declared trainable" : "not declared trainable",
                                     {},
                                     false,
                                     {}});
  return import;
}

void refuse_zoo_options(const DriverOptions& options) {
  if (options.zoo.any())
    user_error("{} is a file: --family, --layers, --dim N and the other shape options are for zoo models",
               options.model);
}

}  // namespace

std::optional<uint64_t> parse_weights(const std::string& text) {
  if (text == "none") return std::nullopt;
  std::string_view seed = text;
  uint64_t value = 0;
  if (seed == "random") return 0;
  if (seed.starts_with("random:")) {
    seed.remove_prefix(7);
    const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), value);
    if (error == std::errc() && end == seed.data() + seed.size()) return value;
  }
  user_error("--weights {}: expected none, random or random:SEED", text);
}

Model load_model(const DriverOptions& options, MissingWeights missing,
                 const std::map<std::string, Dims>& input_shapes) {
  if (options.model.empty() && options.zoo.family.empty())
    throw UsageError("name a model: an .onnx file, .ir text, a zoo model, or --family for a custom one");
  const std::filesystem::path path = options.model;
  if (std::filesystem::is_directory(path))
    user_error("{} is a folder, not a model; a folder of stepc compile is for stepc run", options.model);
  const ImportOptions import = import_options(options, input_shapes);
  Model model;
  model.name = path.stem().string();
  if (path.extension() == ".ir") {
    refuse_zoo_options(options);
    model.source = "ir";
    model.import = import_text(options.model);
  } else if (path.extension() == ".onnx" || std::filesystem::exists(path)) {
    refuse_zoo_options(options);
    model.source = "onnx";
    model.import = import_onnx(options.model, import);
  } else {
    model.source = "zoo";
    model.name = options.model.empty() ? options.zoo.family : options.model;
    model.import = import_zoo(zoo_config(options.model, options.zoo), import);
  }
  if (!options.weights.empty()) {
    if (model.import.weights_present)
      user_error("--weights {}: {} has weights of its own", options.weights, options.model);
    model.random_seed = parse_weights(options.weights);
  } else if (!model.import.weights_present && missing == MissingWeights::random && model.source != "onnx") {
    model.random_seed = 0;
  }
  return model;
}

std::map<std::string, const Initializer*> initializers_by_weight(const ImportedModel& import) {
  std::map<std::string, const Initializer*> by_weight;
  for (const Initializer& initializer : import.initializers)
    if (initializer.tied_to.empty()) by_weight.emplace(initializer.name, &initializer);
  return by_weight;
}

Tensor initial_weight(const Model& model, const GraphInput& weight) {
  for (const Initializer& initializer : model.import.initializers) {
    if (initializer.name != weight.name || !initializer.tied_to.empty()) continue;
    if (!initializer.data) return random_weight(weight.name, initializer.type, model.random_seed.value_or(0));
    Tensor tensor(initializer.type);
    const TensorView& data = *initializer.data;
    if (data.type.dtype == initializer.type.dtype) return {initializer.type, {data.data, tensor.bytes().size()}};
    for (int64_t i = 0; i < data.type.shape.numel(); ++i) set_element(tensor, i, element(data, i));
    return tensor;
  }
  user_error("weight '{}' has no initializer", weight.name);
}

}  // namespace stepc
