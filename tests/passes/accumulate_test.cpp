// N micro-steps of a part of the batch each and one update equal one step of the whole batch.

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "passes/registry.h"
#include "passes/runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stepc {
namespace {

using Inputs = std::map<std::string, RefTensor>;

std::string model(int rows) {
  return fmt::format(R"(graph @model {{
    %x: f32[{0},2] = input data "x"
    %w: f32[2,3] = input weight "w" trainable
    %y: f32[{0},3] = contraction %x, %w {{spec="ik,kj->ij"}}
    output output "logits" %y
  }})",
                     rows);
}

Graph compile(int rows, int64_t accumulate) {
  TrainOptions options;
  options.loss.kind = LossKind::cross_entropy;
  options.accumulate = accumulate;
  options.optimizer = parse_optimizer("sgd:lr=0.5,momentum=0.9");
  options.clip_norm = 0.1;
  Graph graph = parse(model(rows));
  PassContext context(options);
  run_passes(graph, parse_pipeline("loss,autodiff,accumulate,clip,optimizer,canonicalize,fold,cse,dce"), context);
  return graph;
}

// Rows first to last of x and of the labels; two of six labels are ignored, both in the first half.
void set_batch(Inputs& inputs, int first, int last) {
  constexpr int kLabels[] = {-100, 1, -100, 0, 2, 1};
  RefTensor x(Type{Dtype::f32, {last - first, 2}});
  RefTensor label(Type{Dtype::i64, {last - first}});
  for (int row = first; row < last; ++row) {
    x.set(2 * (row - first), 0.5 * row - 1);
    x.set(2 * (row - first) + 1, 0.25 * row * row - 1);
    label.set(row - first, kLabels[row]);
  }
  inputs.insert_or_assign("x", x);
  inputs.insert_or_assign("label", label);
}

Inputs initial(const Graph& graph) {
  Inputs inputs;
  for (const GraphInput& input : graph.inputs()) inputs.emplace(input.name, RefTensor(graph.type(input.value)));
  for (int64_t i = 0; i < 6; ++i) inputs.at("w").set(i, 0.3 * static_cast<double>(i) - 0.7);
  return inputs;
}

// The micro-step keeps what the accumulators become, the update what weights and states become.
Interpretation run(const Graph& graph, Inputs& inputs, bool update) {
  Interpretation result = interpret(graph, inputs, RefPrecision::f64);
  for (const GraphInput& input : graph.inputs()) {
    const bool accumulator = input.role == InputRole::accumulator;
    if (!result.states.contains(input.name) || accumulator == update) continue;
    inputs.at(input.name) = result.states.at(input.name);
  }
  return result;
}

TEST(Accumulate, EqualsTheWholeBatchThoughCountsDiffer) {
  const Graph whole = compile(6, 1);
  Inputs whole_inputs = initial(whole);
  set_batch(whole_inputs, 0, 6);
  const Interpretation expected = run(whole, whole_inputs, /*update=*/true);

  const Graph micro = compile(3, 2);
  ASSERT_TRUE(micro.accumulates());
  Inputs inputs = initial(micro);
  set_batch(inputs, 0, 3);
  run(micro, inputs, /*update=*/false);
  set_batch(inputs, 3, 6);
  const Interpretation actual = run(micro, inputs, /*update=*/true);

  EXPECT_NEAR(actual.outputs.at("loss").at(0), expected.outputs.at("loss").at(0), 1e-12);
  EXPECT_NEAR(actual.outputs.at("grad_norm").at(0), expected.outputs.at("grad_norm").at(0), 1e-12);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(inputs.at("w").at(i), whole_inputs.at("w").at(i), 1e-12);
    EXPECT_NE(inputs.at("w").at(i), initial(micro).at("w").at(i));
  }
}

TEST(Accumulate, OnlyTheUpdateIsInPhaseOptimizer) {
  const Graph graph = compile(3, 2);
  for (const StatePair& state : graph.states()) {
    const bool accumulator = graph.input_of(state.input)->role == InputRole::accumulator;
    EXPECT_EQ(graph.producer(state.output)->origin.phase, accumulator ? Phase::backward : Phase::optimizer);
  }
}

}  // namespace
}  // namespace stepc
