// Every pass on every graph of tests/data/graphs, at its place in the default pipeline and under several options: the
// reference interpreter's outputs before and after obey the contract, "changed" is true exactly when the text differs,
// and a second run changes nothing or is refused.

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "ir/verifier.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "passes/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace stepc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorpus = "tests/data/graphs";

struct Setting {
  std::string name;
  TrainOptions options;
};

std::vector<Setting> settings() {
  TrainOptions plain;
  plain.keep_outputs = true;
  TrainOptions gradients = plain;
  gradients.optimizer.kind = OptimizerKind::none;
  gradients.grad_inputs = "*";
  TrainOptions clipped = plain;
  clipped.clip_norm = 0.1;
  clipped.fuse = FuseLevel::off;
  TrainOptions accumulated;
  accumulated.accumulate = 3;
  accumulated.optimizer = parse_optimizer("sgd:momentum=0.9");
  return {{"plain", plain}, {"gradients", gradients}, {"clipped", clipped}, {"accumulated", accumulated}};
}

// Values that depend on the input's name alone, so that graphs before and after a pass get the same ones. Integers are
// below 3, small enough for every table and label of the corpus; states are not negative (second moments).
RefTensor value_of(const Type& type, const std::string& name, InputRole role) {
  RefTensor tensor(type);
  const auto seed = static_cast<double>(std::hash<std::string>()(name) % 1000);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double wave = std::sin(seed + 1.3 * static_cast<double>(i));
    if (is_float(type.dtype))
      tensor.set(i, role == InputRole::state ? wave * wave : wave);
    else
      tensor.set(i, type.dtype == Dtype::boolean ? (i % 3 != 2) : static_cast<double>((i * i + i) % 5));
  }
  return tensor;
}

std::map<std::string, RefTensor> run(const Graph& graph) {
  std::map<std::string, RefTensor> inputs;
  for (const GraphInput& input : graph.inputs())
    inputs.emplace(input.name, value_of(graph.type(input.value), input.name,
                                        input.role == InputRole::accumulator ? InputRole::state : input.role));
  Interpretation result = interpret(graph, inputs, RefPrecision::f32);
  for (auto& [name, tensor] : result.states) result.outputs.insert_or_assign("state of " + name, tensor);
  for (const GraphOutput& output : graph.outputs())
    if (output.role == OutputRole::gradient) result.outputs.erase(output.name);
  return result.outputs;
}

void expect_equal(const RefTensor& before, const RefTensor& after, double tolerance, const std::string& what) {
  ASSERT_EQ(before.type, after.type) << what;
  double largest = 0;
  for (int64_t i = 0; i < before.numel(); ++i)
    if (std::isfinite(before.at(i))) largest = std::max(largest, std::abs(before.at(i)));
  for (int64_t i = 0; i < before.numel(); ++i) {
    const double a = before.at(i);
    const double b = after.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), tolerance * largest) << what << " at " << i << ": " << a << " became " << b;
  }
}

// Whether the runner, given the pass once more, lets it change the graph.
bool changes_again(const Pass& pass, Graph& graph, PassContext& context) {
  const Pass* const pipeline[] = {&pass};
  try {
    return run_passes(graph, pipeline, context)[0].changed;
  } catch (const UserError&) {
    return false;
  }
}

void check_pass(const Pass& pass, Graph& graph, PassContext& context) {
  const std::map<std::string, RefTensor> before = run(graph);
  const std::string text = print(graph);
  const bool changed = pass.run(graph, context);
  EXPECT_EQ(changed, print(graph) != text) << "its answer is not what the text says";
  verify(graph);
  EXPECT_EQ(print(parse(print(graph))), print(graph));

  const std::map<std::string, RefTensor> after = run(graph);
  const double tolerance = pass.contract.preserves == Preserves::tolerance ? pass.contract.relative_tolerance : 0;
  for (const auto& [name, tensor] : before) {
    if (after.contains(name))
      expect_equal(tensor, after.at(name), tolerance, name);
    else
      EXPECT_EQ(pass.contract.preserves, Preserves::common_outputs) << name << " is gone";
  }

  const std::string once = print(graph);
  EXPECT_FALSE(changes_again(pass, graph, context)) << "a second run changes the graph";
  EXPECT_EQ(print(graph), once);
}

class Contracts : public testing::Test {
 public:
  Contracts(fs::path path, Setting setting) : path_(std::move(path)), setting_(std::move(setting)) {}

  void TestBody() override {
    std::ifstream file(path_);
    std::ostringstream text;
    text << file.rdbuf();
    Graph graph = parse(text.str(), {.file = path_.string()});
    PassContext context(setting_.options);
    for (const Pass* pass : default_pipeline()) {
      SCOPED_TRACE(pass->name);
      check_pass(*pass, graph, context);
      if (HasFatalFailure()) return;
    }
  }

 private:
  fs::path path_;
  Setting setting_;
};

int register_all() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCorpus))
    if (entry.path().extension() == ".ir") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths)
    for (const Setting& setting : settings())
      testing::RegisterTest("Contracts", (path.stem().string() + "/" + setting.name).c_str(), nullptr, nullptr,
                            __FILE__, __LINE__, [=]() -> testing::Test* { return new Contracts(path, setting); });
  return static_cast<int>(paths.size());
}

}  // namespace
}  // namespace stepc

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  stepc::register_all();
  return RUN_ALL_TESTS();
}
