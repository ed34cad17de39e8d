#include "tests/corpus/corpus.h"

#include "ir/support/error.h"
#include "passes/registry.h"

#include <algorithm>

namespace stepc::corpus {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBatch = 2;
constexpr int64_t kLength = 8;

Specimen zoo_specimen(const std::string& family, std::optional<bool> tied) {
  Specimen specimen;
  specimen.name = "zoo/" + family + (tied ? *tied ? "-tied" : "-untied" : "");
  specimen.tiny = true;
  ZooOverrides& zoo = specimen.options.zoo;
  zoo.family = family;
  zoo.layers = 2;
  zoo.dim = 24;  // no power of two: dividing by one is exact, whatever a pass makes of it
  zoo.heads = 4;
  zoo.kv_heads = family == "llama" || family == "moe" ? 2 : 4;
  zoo.ffn = 20;
  zoo.seq = family == "vit" ? 5 : 7;
  zoo.tied = tied;
  if (family != "vit") zoo.vocab = 19;
  specimen.options.dims = {{"batch", kBatch}};
  return specimen;
}

void append(std::vector<Specimen>& list, std::vector<Specimen> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::map<std::string, int64_t> small_dims(const std::string& path) {
  std::map<std::string, int64_t> dims;
  const ModelSurvey survey = survey_onnx(path);
  for (const ModelSurvey::Tensor& input : survey.inputs)
    for (size_t axis = 0; axis < input.shape.size(); ++axis)
      if (std::ranges::count(survey.symbols, input.shape[axis]) > 0)
        dims.emplace(input.shape[axis], axis == 0 ? kBatch : kLength);
  return dims;
}

}  // namespace

std::vector<Specimen> default_corpus() {
  std::vector<Specimen> list = specimens_in("tests/data/graphs");
  for (const char* family : {"gpt2", "llama", "bert", "moe"})
    for (const bool tied : {false, true}) list.push_back(zoo_specimen(family, tied));
  list.push_back(zoo_specimen("vit", std::nullopt));
  append(list, specimens_in("tests/data/models"));
  return list;
}

std::vector<Specimen> specimens_in(const fs::path& path) {
  std::vector<fs::path> files{path};
  if (fs::is_directory(path)) {
    files.clear();
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".ir" || entry.path().extension() == ".onnx") files.push_back(entry.path());
    std::ranges::sort(files);
  }
  std::vector<Specimen> list;
  for (const fs::path& file : files) {
    Specimen& specimen = list.emplace_back();
    specimen.name = file.parent_path().filename() / file.stem();
    specimen.options.model = file;
    specimen.tiny = file.extension() == ".ir";
  }
  return list;
}

Model load(const Specimen& specimen) {
  DriverOptions options = specimen.options;
  if (options.model.ends_with(".onnx")) options.dims = small_dims(options.model);
  return load_model(options, MissingWeights::random);
}

LossOptions loss_for(const Graph& forward) {
  const TrainOptions options;
  Graph copy = forward.clone();
  PassContext context(options);
  try {
    find_pass("loss").run(copy, context);
    return options.loss;
  } catch (const UserError&) {
    const auto output = std::ranges::find_if(
        forward.outputs(), [&](const GraphOutput& candidate) { return is_float(forward.dtype(candidate.value)); });
    if (output == forward.outputs().end()) throw;
    LossOptions loss;
    loss.kind = LossKind::mean_square;
    loss.logits = output->name;
    return loss;
  }
}

}  // namespace stepc::corpus
