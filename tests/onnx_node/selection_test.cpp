// The cases that the repository keeps: a selection of ONNX's node tests, and old forms of operators, which ONNX's tests
// no longer have (tests/data/onnx_node/README.md).

#include "tests/onnx_node/node_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace stepc::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> kept_cases() {
  std::vector<std::string> cases;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("tests/data/onnx_node"))
    if (entry.path().filename() == "model.onnx") cases.push_back(entry.path().parent_path().string());
  std::sort(cases.begin(), cases.end());
  return cases;
}

class OnnxNode : public testing::TestWithParam<std::string> {
 protected:
  // All cases are run together, once.
  static std::map<std::string, Verdict> verdicts(const Backend& backend) {
    const std::vector<std::string> cases = kept_cases();
    const std::vector<Verdict> all = run_node_cases(cases, backend);
    std::map<std::string, Verdict> result;
    for (size_t i = 0; i < cases.size(); ++i) result.emplace(cases[i], all[i]);
    return result;
  }
};

TEST_P(OnnxNode, AgreesOnTheInterpreter) {
  static const std::map<std::string, Verdict> all = verdicts(run_interpreter);
  EXPECT_EQ(all.at(GetParam()).outcome, Outcome::pass) << all.at(GetParam()).detail;
}

TEST_P(OnnxNode, AgreesOnTheCpu) {
  static const std::map<std::string, Verdict> all = verdicts(run_cpu);
  EXPECT_EQ(all.at(GetParam()).outcome, Outcome::pass) << all.at(GetParam()).detail;
}

INSTANTIATE_TEST_SUITE_P(Kept, OnnxNode, testing::ValuesIn(kept_cases()),
                         [](const auto& tested) { return fs::path(tested.param).filename().string(); });

}  // namespace
}  // namespace stepc::test
