// Recovered names and ties against what the exporters really did, for every real model in the folder: `param_map.json`
// says for each initializer which parameter it was. STEPC_MODELS names another folder than tests/data/models.

#include "tests/models/model_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace stepc {
namespace {

std::filesystem::path models_folder() {
  const char* folder = std::getenv("STEPC_MODELS");
  return folder != nullptr ? folder : "tests/data/models";
}

// Two sequences of two, of 32 positions.
ImportOptions small_batch(const std::string& path) {
  ImportOptions options;
  const ModelSurvey survey = survey_onnx(path);
  for (const ModelSurvey::Tensor& input : survey.inputs)
    for (size_t axis = 0; axis < input.shape.size(); ++axis)
      if (std::count(survey.symbols.begin(), survey.symbols.end(), input.shape[axis]) != 0)
        options.dims.emplace(input.shape[axis], axis == 0 ? 2 : 32);
  return options;
}

struct Score {
  int recovered = 0;
  int lost = 0;  // names that are still unknown though the tensor is the parameter, or its transpose
  int wrong = 0;
  int ties = 0;
};

void judge(const std::string& model, const ImportedModel& imported, const nlohmann::json& expected, Score& score) {
  std::map<std::string, std::string> truth;
  for (const auto& [initializer, entry] : expected["map"].items()) truth[initializer] = entry[0];
  for (const Initializer& initializer : imported.initializers) {
    const auto known = truth.find(initializer.initializer);
    if (!initializer.tied_to.empty()) {
      EXPECT_EQ(truth[initializer.tied_to], known->second)
          << model << ": " << initializer.initializer << " is tied wrongly";
      ++score.ties;
      continue;
    }
    const bool renamed = initializer.name != initializer.initializer;
    if (known == truth.end()) {
      EXPECT_FALSE(renamed) << model << ": " << initializer.initializer << " is called " << initializer.name;
      EXPECT_FALSE(initializer.trainable) << model << ": " << initializer.initializer << " is no parameter";
      continue;
    }
    EXPECT_TRUE(initializer.trainable) << model << ": " << initializer.initializer << ": " << initializer.reason;
    const std::string relation = expected["map"][initializer.initializer][1];
    if (renamed && initializer.name == known->second) ++score.recovered;
    if (renamed && initializer.name != known->second) {
      ++score.wrong;
      ADD_FAILURE() << model << ": " << initializer.initializer << " is " << known->second << ", not "
                    << initializer.name;
    }
    if (!renamed && relation == "T" && !expected.contains("untraceable")) ++score.lost;
  }
  for (const auto& entry : expected["copies"].items()) {
    const nlohmann::json& copies = entry.value();
    const auto untied =
        std::count_if(imported.initializers.begin(), imported.initializers.end(), [&](const Initializer& i) {
          return std::find(copies.begin(), copies.end(), i.initializer) != copies.end() && i.tied_to.empty();
        });
    EXPECT_EQ(untied, 1) << model << ": the copies of " << entry.key() << " are not one weight";
  }
}

TEST(ParameterMap, NamesAndTiesAreRight) {
  const std::filesystem::path folder = models_folder();
  std::ifstream file(folder / "param_map.json");
  ASSERT_TRUE(file) << "no " << (folder / "param_map.json");
  const nlohmann::json map = nlohmann::json::parse(file);
  Score score;
  int models = 0;
  for (const auto& [model, expected] : map.items()) {
    const std::string path = folder / (model + ".onnx");
    if (!std::filesystem::exists(path)) continue;  // the map is of more models than the selection has
    ++models;
    ASSERT_NO_THROW(judge(model, import_onnx(path, small_batch(path)), expected, score)) << model;
  }
  std::cout << models << " models: " << score.recovered << " names recovered, " << score.lost << " lost, "
            << score.wrong << " wrong, " << score.ties << " ties mended\n";
  EXPECT_GT(models, 0);
  EXPECT_EQ(score.wrong, 0);
  EXPECT_EQ(score.lost, 0);
}

}  // namespace
}  // namespace stepc
