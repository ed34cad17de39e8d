// Fusions that nobody would choose: on every tiny model of the corpus, seeded random edges are forced and forbidden at
// level full. What runs on the CPU agrees with the reference interpreter, and bit for bit with what level full chose by
// itself: bits depend on nodes and shapes, not on the kernels that they share. The bits of contractions are a library's
// and depend on what it adds in passing: there they add nothing. With their edges among the chosen, results agree
// within a tolerance.
#include "ir/support/error.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "runtime/cpu/scratch.h"
#include "tests/corpus/agreement.h"
#include "tests/corpus/corpus.h"
#include "tests/corpus/input_values.h"
#include "tests/runtime/run_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stepc::test {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kForced = 8;
constexpr size_t kForbidden = 8;

TrainOptions gradients_of(const Graph& forward) {
  TrainOptions options;
  options.fuse = FuseLevel::full;
  options.keep_outputs = true;
  options.optimizer.kind = OptimizerKind::none;
  options.grad_inputs = "*";
  options.loss = corpus::loss_for(forward);
  return options;
}

void run_before_fuse(Graph& graph, PassContext& context) {
  std::vector<const Pass*> pipeline = default_pipeline();
  pipeline.erase(std::ranges::find(pipeline, &find_pass("fuse")), pipeline.end());
  run_passes(graph, pipeline, context, {.measure = false});
}

bool is_library_edge(const FusionVerdict& edge) { return edge.producer.starts_with("contraction "); }

FusionOverride override_of(const FusionVerdict& edge, bool force) {
  return {force, edge.producer, edge.consumer, "test"};
}

class ForcedFusion {
 public:
  ForcedFusion(const corpus::Specimen& specimen, uint32_t seed)
      : model_(corpus::load(specimen)), options_(gradients_of(model_.import.graph)), values_(model_), random_(seed) {
    graph_ = std::move(model_.import.graph);
    PassContext context(options_);
    run_before_fuse(graph_, context);
  }

  void check() {
    agrees_with_interpreter(run(fused(choose(edges_of({}), {}))));

    std::vector<FusionOverride> bare;
    if (std::ranges::any_of(verdicts_, is_library_edge)) bare.push_back({false, "contraction *", "*", "test"});
    const Tensors expected = run(fused(bare));
    agrees_with_interpreter(expected);
    const std::vector<FusionOverride> overrides = choose(edges_of(bare), bare);
    const Tensors actual = run(fused(overrides));
    for (const auto& [name, tensor] : expected)
      EXPECT_TRUE(actual.at(name) == tensor) << name << " has other bits with\n" << text(overrides);
  }

 private:
  // What the pass makes of a copy.
  Graph fused(const std::vector<FusionOverride>& overrides) {
    Graph copy = graph_.clone();
    TrainOptions options = options_;
    options.fuse_edges = overrides;
    PassContext context(options);
    find_pass("fuse").run(copy, context);
    verdicts_ = std::move(context.fusion);
    return copy;
  }

  std::vector<FusionVerdict> edges_of(const std::vector<FusionOverride>& overrides) {
    fused(overrides);
    EXPECT_FALSE(verdicts_.empty());
    return verdicts_;
  }

  // With random edges more: to force what is apart, where that is legal and can be emitted, and to forbid what is
  // together.
  std::vector<FusionOverride> choose(std::vector<FusionVerdict> edges, std::vector<FusionOverride> chosen) {
    std::ranges::shuffle(edges, random_);
    size_t forced = 0, forbidden = 0;
    for (const FusionVerdict& edge : edges) {
      if (edge.reason == "forbidden") continue;
      size_t& count = edge.fused ? forbidden : forced;
      if (count == (edge.fused ? kForbidden : kForced)) continue;
      chosen.push_back(override_of(edge, !edge.fused));
      try {
        fused(chosen);
        ++count;
      } catch (const UserError&) {
        chosen.pop_back();
      }
    }
    return chosen;
  }

  Tensors run(const Graph& fused) {
    Graph graph = fused.clone();
    PassContext context(options_);
    const CpuScratch scratch;
    context.scratch = &scratch;
    const Pass* const pipeline[] = {&find_pass("schedule"), &find_pass("plan-memory")};
    run_passes(graph, pipeline, context, {.measure = false});
    Tensors inputs;
    for (const auto& [name, value] : values_.of(graph))
      if (graph.find_input(name) != nullptr) inputs.emplace(name, value.to_tensor());
    return run_on_cpu(graph, *context.plan, inputs, 2);
  }

  void agrees_with_interpreter(const Tensors& actual) {
    corpus::Observed observed;
    for (const auto& [name, tensor] : actual) observed.emplace(name, RefTensor(tensor.view()));
    corpus::Observed expected = corpus::observe(graph_, values_.of(graph_), RefPrecision::f32);
    std::erase_if(expected, [&](const auto& entry) { return !observed.contains(entry.first); });
    EXPECT_EQ(corpus::breach({.tolerance = kTolerance}, graph_, expected, observed), "");
  }

  static std::string text(const std::vector<FusionOverride>& overrides) {
    std::string lines;
    for (const FusionOverride& rule : overrides)
      lines += fmt::format("{} {} -> {}\n", rule.force ? "force" : "forbid", rule.producer, rule.consumer);
    return lines;
  }

  Model model_;
  TrainOptions options_;
  corpus::InputValues values_;
  std::mt19937 random_;
  Graph graph_;
  std::vector<FusionVerdict> verdicts_;  // of the last `fused`
};

class ForcedFusionTest : public testing::Test {
 public:
  explicit ForcedFusionTest(corpus::Specimen specimen) : specimen_(std::move(specimen)) {}
  void TestBody() override { ForcedFusion(specimen_, 1).check(); }

 private:
  corpus::Specimen specimen_;
};

}  // namespace
}  // namespace stepc::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const stepc::corpus::Specimen& specimen : stepc::corpus::default_corpus())
    if (specimen.tiny)
      testing::RegisterTest("ForcedFusion", specimen.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [specimen]() -> testing::Test* { return new stepc::test::ForcedFusionTest(specimen); });
  return RUN_ALL_TESTS();
}
