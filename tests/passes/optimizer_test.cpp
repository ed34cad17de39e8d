// Optimizer steps of the interpreter, in f64, against the formulas of torch.optim written out as loops.

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/support/error.h"
#include "passes/registry.h"
#include "passes/runner.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepc {
namespace {

// loss = Σ w²/2 over 3 elements and 2 weights, so that the gradient is the weight.
constexpr std::string_view kModel = R"(graph @model {
  %w: f64[3] = input weight "a.w" trainable
  %v: f64[3] = input weight "a.v" trainable
  %0: f64[] = constant {data=[0.5]}
  %1: f64[3] = mul %w, %w
  %2: f64[3] = mul %v, %v
  %3: f64[3] = add %1, %2
  %4: f64[3] = mul %3, %0
  %5: f64[] = reduce_sum %4 {axes=[0], keepdims=false}
  output output "y" %5
})";

struct Trajectory {
  std::vector<double> weights;  // a.w then a.v
  std::vector<double> losses;
  std::vector<double> grad_norms;
};

// Runs the compiled graph, states fed back.
Trajectory train(const TrainOptions& options, int steps) {
  Graph graph = parse(kModel);
  PassContext context(options);
  run_passes(graph, parse_pipeline("loss,autodiff,clip,optimizer,canonicalize,fold,cse,dce"), context);
  std::map<std::string, RefTensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    RefTensor tensor(graph.type(input.value));
    if (input.role == InputRole::weight)
      for (int64_t i = 0; i < 3; ++i) tensor.set(i, static_cast<double>(i + 1) * (input.name == "a.w" ? 0.5 : -0.25));
    inputs.emplace(input.name, std::move(tensor));
  }
  Trajectory trajectory;
  for (int step = 0; step < steps; ++step) {
    Interpretation result = interpret(graph, inputs, RefPrecision::f64);
    trajectory.losses.push_back(result.outputs.at("loss").at(0));
    trajectory.grad_norms.push_back(result.outputs.at("grad_norm").at(0));
    for (auto& [name, tensor] : result.states) inputs.at(name) = tensor;
  }
  for (const char* name : {"a.w", "a.v"})
    for (int64_t i = 0; i < 3; ++i) trajectory.weights.push_back(inputs.at(name).at(i));
  return trajectory;
}

// The same by hand.
Trajectory reference(const OptimizerOptions& o, std::optional<double> clip_norm, int steps) {
  std::vector<double> p{0.5, 1, 1.5, -0.25, -0.5, -0.75}, m(6), v(6), buffer(6);
  Trajectory trajectory;
  for (int t = 1; t <= steps; ++t) {
    double squares = 0;
    for (const double x : p) squares += x * x;
    const double norm = std::sqrt(squares);
    trajectory.losses.push_back(squares / 2);
    trajectory.grad_norms.push_back(norm);
    const double scale = clip_norm ? std::min(1.0, *clip_norm / (norm + 1e-6)) : 1;
    for (size_t i = 0; i < p.size(); ++i) {
      double g = p[i] * scale;
      if (o.kind == OptimizerKind::adamw) p[i] *= 1 - o.lr * o.weight_decay;
      if (o.kind != OptimizerKind::adamw) g += o.weight_decay * p[i];
      if (o.kind == OptimizerKind::sgd) {
        buffer[i] = t == 1 ? g : o.momentum * buffer[i] + g;
        p[i] -= o.lr * (o.momentum == 0 ? g : buffer[i]);
        continue;
      }
      m[i] += (g - m[i]) * (1 - o.beta1);
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      const double denominator = std::sqrt(v[i]) / std::sqrt(1 - std::pow(o.beta2, t)) + o.eps;
      p[i] -= o.lr / (1 - std::pow(o.beta1, t)) * m[i] / denominator;
    }
  }
  trajectory.weights = p;
  return trajectory;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  // The scale of clipping is f32 in the graph, whatever the weights are: its 1e-6 is off by one part in 1e8.
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-10 * std::abs(expected[i])) << i;
}

void expect_follows(std::string_view optimizer, std::optional<double> clip_norm) {
  TrainOptions options;
  options.optimizer = parse_optimizer(optimizer);
  options.clip_norm = clip_norm;
  constexpr int kSteps = 20;
  const Trajectory actual = train(options, kSteps);
  const Trajectory expected = reference(options.optimizer, clip_norm, kSteps);
  expect_near(actual.weights, expected.weights);
  expect_near(actual.losses, expected.losses);
  expect_near(actual.grad_norms, expected.grad_norms);
}

TEST(Optimizer, Sgd) { expect_follows("sgd:lr=0.05", std::nullopt); }
TEST(Optimizer, SgdMomentumDecay) { expect_follows("sgd:lr=0.05,momentum=0.9,weight_decay=0.1", std::nullopt); }
TEST(Optimizer, SgdClipped) { expect_follows("sgd:lr=0.05,momentum=0.9", 0.5); }
TEST(Optimizer, Adam) { expect_follows("adam:lr=0.01,weight_decay=0.1", std::nullopt); }
TEST(Optimizer, AdamW) { expect_follows("adamw:lr=0.01,weight_decay=0.1", std::nullopt); }
TEST(Optimizer, AdamWClipped) { expect_follows("adamw:lr=0.01", 0.5); }

TEST(OptimizerOptions, RefusesWhatItDoesNotRead) {
  EXPECT_THROW(parse_optimizer("lion"), UserError);
  EXPECT_THROW(parse_optimizer("sgd:beta1=0.9"), UserError);
  EXPECT_THROW(parse_optimizer("adamw:lr"), UserError);
  EXPECT_THROW(parse_optimizer("adamw:lr=fast"), UserError);
  EXPECT_THROW(parse_optimizer("adamw:beta2=1"), UserError);
  EXPECT_THROW(parse_optimizer("adamw:lr=-1"), UserError);
  EXPECT_THROW(parse_optimizer("adamw:lr=nan"), UserError);
  EXPECT_EQ(parse_optimizer("sgd:lr=0.5").lr, 0.5);
  EXPECT_EQ(parse_optimizer("sgd").weight_decay, 0);
  EXPECT_EQ(parse_optimizer("adamw").weight_decay, 0.01);
}

TEST(GlobMatch, StarsQuestionMarksAndAlternatives) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*c*e", "abcde"));
  EXPECT_FALSE(glob_match("a*c*e", "abcd"));
  EXPECT_TRUE(glob_match("?b", "ab"));
  EXPECT_FALSE(glob_match("?b", "b"));
  EXPECT_TRUE(glob_match("x,y*", "yz"));
  EXPECT_FALSE(glob_match("", "x"));
}

}  // namespace
}  // namespace stepc
