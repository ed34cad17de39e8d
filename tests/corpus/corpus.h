#pragma once

#include "passes/options.h"
#include "tools/driver/model.h"
#include "tools/driver/options.h"

#include <filesystem>
#include <string>
#include <vector>

namespace stepc::corpus {

// A model that passes and backends are held to.
struct Specimen {
  std::string name;  // "zoo/llama-tied", "models/gpt2_dynamo"
  DriverOptions options;
  bool tiny = false;  // so small that it may be run under every setting
};

// The hand-made graphs, one tiny model of each family of the zoo, tied and untied, and the selection of real exports.
std::vector<Specimen> default_corpus();
// A file (.ir or .onnx), or all of a folder in the order of their names.
std::vector<Specimen> specimens_in(const std::filesystem::path& path);

// The specimen as a forward graph. Symbolic dimensions are small: two along the first axis of an input, eight along the
// others.
Model load(const Specimen& specimen);

// The loss that the outputs allow: the default, else as the goldens have it the mean square of the first float output.
LossOptions loss_for(const Graph& forward);

}  // namespace stepc::corpus
