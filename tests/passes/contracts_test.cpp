// Every pass on every model of the corpus, at its place in the default pipeline: the reference interpreter's outputs
// before and after obey the contract, "changed" is true exactly when the text differs, a second run changes nothing or
// is refused, and each stage reads back as the graph that it was, large constants from their files included.
//
//   contract_tests [--all] [PATH...]
//
// By default the corpus of tests/corpus: the tiny models under every setting, the others under the first. PATH names
// other files and folders of models; --all runs every setting on all. GTEST_FILTER, GTEST_TOTAL_SHARDS and the like
// work.

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "models/constant_directory.h"
#include "passes/pipelines.h"
#include "passes/runner.h"
#include "tests/corpus/agreement.h"
#include "tests/corpus/corpus.h"
#include "tests/corpus/input_values.h"
#include "tests/corpus/same_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace stepc {
namespace {

namespace fs = std::filesystem;

constexpr double kLowTolerance = 0.05;

struct Setting {
  std::string name;
  TrainOptions options;
};

std::vector<Setting> settings() {
  TrainOptions standard;
  standard.keep_outputs = true;
  TrainOptions gradients = standard;
  gradients.optimizer.kind = OptimizerKind::none;
  gradients.grad_inputs = "*";
  TrainOptions unfused = standard;
  unfused.fuse = FuseLevel::off;
  unfused.clip_norm = 0.1;
  unfused.optimizer = parse_optimizer("adam:weight_decay=0.01");
  TrainOptions accumulated = standard;
  accumulated.accumulate = 2;
  accumulated.optimizer = parse_optimizer("sgd:momentum=0.9");
  TrainOptions pointwise = standard;
  pointwise.fuse = FuseLevel::pointwise;
  TrainOptions losses = accumulated;  // logits that are no output
  losses.keep_outputs = false;
  TrainOptions bf16 = losses;
  bf16.precision = Precision::bf16;
  bf16.accumulate = 1;
  TrainOptions fp16 = unfused;
  fp16.precision = Precision::fp16;
  fp16.loss_scale.init = 256;
  return {{"standard", standard},   {"gradients", gradients}, {"unfused", unfused}, {"accumulated", accumulated},
          {"pointwise", pointwise}, {"losses", losses},       {"bf16", bf16},       {"fp16", fp16}};
}

// A folder of its own for the constants of one test, gone with it.
class ConstantFolder {
 public:
  explicit ConstantFolder(const std::string& test)
      : path_(fs::path(testing::TempDir()) / ("stepc-contracts-" + test)), files_(path_) {}
  ConstantFolder(const ConstantFolder&) = delete;
  ConstantFolder& operator=(const ConstantFolder&) = delete;
  ~ConstantFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ConstantDirectory& files() { return files_; }

 private:
  fs::path path_;
  ConstantDirectory files_;
};

// Looks at the graph after each pass of a pipeline.
class Stages {
 public:
  Stages(const Graph& imported, corpus::InputValues& values, const TrainOptions& options, ConstantDirectory& constants)
      : values_(values),
        options_(options),
        constants_(constants),
        text_(print(imported)),
        observed_(corpus::observe(imported, values.of(imported), RefPrecision::f32)) {
    reads_back(imported);
  }

  void after(const Pass& pass, const Graph& graph) {
    SCOPED_TRACE(pass.name);
    try {
      reads_back(graph);
      keeps_contract(pass, graph);
      changes_nothing_again(pass, graph);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

 private:
  void reads_back(const Graph& graph) {
    const std::string text = print(graph, &constants_);
    const Graph again = parse(text, {.file = "stage", .constants = &constants_});
    EXPECT_EQ(corpus::first_difference(graph, again), "") << "the text reads back as another graph";
    EXPECT_TRUE(print(again) == text) << "the print of the parsed text is another";
  }

  // A graph of the same text computes the same.
  void keeps_contract(const Pass& pass, const Graph& graph) {
    std::string text = print(graph);
    if (text == text_) return;
    corpus::Observed now = corpus::observe(graph, values_.of(graph), RefPrecision::f32);
    const Pass* const passes[] = {&pass};
    corpus::Promise promise = corpus::promise_of(passes);
    // What may round otherwise in f32 may round to the next 16-bit number.
    const bool low = low_dtype(options_.precision).has_value();
    if (low && promise.tolerance > 0) promise.tolerance = std::max(promise.tolerance, kLowTolerance);
    EXPECT_EQ(corpus::breach(promise, graph, observed_, now), "");
    for (const GraphOutput& output : graph.outputs()) {
      if (output.role != OutputRole::loss) continue;
      EXPECT_TRUE(std::isfinite(now.at(output.name).at(0))) << "such a loss says nothing about what came before it";
    }
    text_ = std::move(text);
    observed_ = std::move(now);
  }

  void changes_nothing_again(const Pass& pass, const Graph& graph) {
    Graph copy = graph.clone();
    PassContext context(options_);
    bool changed = false;
    if (pass.contract.refuses.empty()) {
      changed = pass.run(copy, context);
    } else {
      const Pass* const pipeline[] = {&pass};
      try {
        changed = run_passes(copy, pipeline, context, {.measure = false})[0].changed;
      } catch (const UserError&) {
      }
    }
    EXPECT_FALSE(changed) << "a second run says that it changed the graph";
    EXPECT_TRUE(print(copy) == text_) << "a second run changes the graph";
  }

  corpus::InputValues& values_;
  const TrainOptions& options_;
  ConstantDirectory& constants_;
  std::string text_;
  corpus::Observed observed_;
};

class Contracts : public testing::Test {
 public:
  Contracts(corpus::Specimen specimen, Setting setting)
      : specimen_(std::move(specimen)), setting_(std::move(setting)) {}

  void TestBody() override {
    std::optional<Model> model;
    try {
      model = corpus::load(specimen_);
    } catch (const UserError& error) {
      // x_: files as other tools leave them, some of which are refused.
      if (!fs::path(specimen_.name).filename().string().starts_with("x_")) throw;
      GTEST_SKIP() << "refused: " << error.what();
    }
    Graph graph = std::move(model->import.graph);
    setting_.options.loss = corpus::loss_for(graph);
    PassContext context(setting_.options);
    ConstantFolder constants(test_name());
    corpus::InputValues values(*model);
    Stages stages(graph, values, setting_.options, constants.files());
    const std::vector<const Pass*> pipeline = default_pipeline();
    const auto look = [&](const Graph& after, std::string_view, size_t position) {
      stages.after(*pipeline[position], after);
    };
    run_passes(graph, pipeline, context, {.measure = false, .check_changed = true, .dump = look});
  }

  std::string test_name() const {
    std::string name = specimen_.name + "." + setting_.name;
    std::ranges::replace(name, '/', '.');
    return name;
  }

 private:
  corpus::Specimen specimen_;
  Setting setting_;
};

void register_tests(const std::vector<corpus::Specimen>& specimens, bool all_settings) {
  const std::vector<Setting> list = settings();
  for (const corpus::Specimen& specimen : specimens)
    for (size_t i = 0; i < (all_settings || specimen.tiny ? list.size() : 1); ++i)
      testing::RegisterTest(
          "Contracts", (specimen.name + "/" + list[i].name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [specimen, setting = list[i]]() -> testing::Test* { return new Contracts(specimen, setting); });
}

}  // namespace
}  // namespace stepc

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  bool all_settings = false;
  std::vector<stepc::corpus::Specimen> specimens;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--all") {
      all_settings = true;
      continue;
    }
    for (stepc::corpus::Specimen& specimen : stepc::corpus::specimens_in(argv[i]))
      specimens.push_back(std::move(specimen));
  }
  stepc::register_tests(specimens.empty() ? stepc::corpus::default_corpus() : specimens, all_settings);
  return RUN_ALL_TESTS();
}
