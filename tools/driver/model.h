#pragma once

#include "models/onnx/import.h"
#include "tools/driver/options.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepc {

// A model as every command starts from it: the forward graph with its weights, wherever it came from.
struct Model {
  ImportedModel import;
  std::string name;    // zoo name, or the file's name without its ending
  std::string source;  // "onnx", "zoo" or "ir"
  // Seed of random weights; set where the model has none of its own and the command or --weights asks for some.
  std::optional<uint64_t> random_seed;

  bool can_run() const { return import.weights_present || random_seed.has_value(); }
};

// --weights: "none" is nullopt, "random" is seed 0. Throws UserError for other texts.
std::optional<uint64_t> parse_weights(const std::string& text);

// What a command makes of a model without weights when --weights does not say.
enum class MissingWeights : uint8_t { none, random };

// MODEL: an .onnx file, .ir text, or a zoo name (with overrides, or --family alone). `input_shapes` are those of the
// data.
Model load_model(const DriverOptions& options, MissingWeights missing,
                 const std::map<std::string, Dims>& input_shapes = {});

// The initial value of a weight input: the file's payload converted to the graph's dtype, or random.
Tensor initial_weight(const Model& model, const GraphInput& weight);

// Initializers by the name of the weight input that they became; tied copies are left out.
std::map<std::string, const Initializer*> initializers_by_weight(const ImportedModel& import);

}  // namespace stepc
