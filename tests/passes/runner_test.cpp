#include "passes/runner.h"

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "passes/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepc {
namespace {

// cse finds one pair, dce then one dead node.
constexpr std::string_view kGraph = R"(graph @g {
  %x: f32[4] = input data "x"
  %a: f32[4] = exp %x
  %b: f32[4] = exp %x
  %c: f32[4] = sub %a, %b
  %d: f32[4] = tanh %c
  output output "y" %c
})";

std::vector<std::string> changed_passes(const std::vector<PassRow>& rows) {
  std::vector<std::string> names;
  for (const PassRow& row : rows)
    if (row.changed) names.push_back(row.name);
  return names;
}

class RunnerTest : public testing::Test {
 protected:
  std::vector<PassRow> run(std::string_view passes, const RunnerOptions& options = {}) {
    return run_passes(graph_, parse_pipeline(passes), context_, options);
  }

  Graph graph_ = parse(kGraph);
  TrainOptions train_;
  PassContext context_{train_};
};

TEST_F(RunnerTest, ReportsAndMeasuresEachPass) {
  const std::vector<PassRow> rows = run("cse,dce,dce", {.check_changed = true});
  EXPECT_THAT(changed_passes(rows), testing::ElementsAre("cse", "dce"));
  EXPECT_EQ(rows[0].nodes, 3);
  EXPECT_EQ(rows[1].nodes, 2);
  EXPECT_EQ(rows[1].kernels, 2);
  EXPECT_EQ(rows[1].traffic_bytes, 2 * 16 + 2 * 16);  // exp reads and writes 16 bytes; the difference reads one value
  EXPECT_FALSE(rows[1].saved_bytes.has_value());
}

TEST_F(RunnerTest, StopsAfterTheLastOccurrence) {
  EXPECT_EQ(run("dce,cse,dce,fold", {.stop_after = "dce"}).size(), 3U);
  EXPECT_THROW(run("dce", {.stop_after = "cse"}), UserError);
}

TEST_F(RunnerTest, SkipsWhatIsNotRequired) {
  EXPECT_THAT(changed_passes(run("cse,dce", {.skip = {"cse"}})), testing::ElementsAre("dce"));
  EXPECT_THROW(run("cse,loss", {.skip = {"loss"}}), UserError);
}

TEST_F(RunnerTest, BisectKeepsTheFirstChanges) {
  EXPECT_TRUE(run("cse,dce", {.bisect = 0}).empty());
  EXPECT_THAT(changed_passes(run("fold,cse,dce", {.bisect = 1})), testing::ElementsAre("cse"));
}

TEST_F(RunnerTest, DumpsEachStage) {
  std::vector<std::string> stages;
  run("cse,dce", {.dump = [&](const Graph& graph, std::string_view pass, size_t position) {
        EXPECT_EQ(print(parse(print(graph))), print(graph));
        stages.push_back(fmt::format("{}-{}", position, pass));
      }});
  EXPECT_THAT(stages, testing::ElementsAre("0-cse", "1-dce"));
}

TEST_F(RunnerTest, EnforcesContracts) {
  EXPECT_THROW(run("autodiff"), UserError);                  // needs a loss
  EXPECT_THROW(run("plan-memory"), UserError);               // needs an order of execution
  EXPECT_THROW(run("schedule,cse,plan-memory"), UserError);  // which cse broke
}

TEST_F(RunnerTest, UnknownNamesListThePasses) {
  try {
    parse_pipeline("dce,cze");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'cze'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("cse"));
  }
}

}  // namespace
}  // namespace stepc
