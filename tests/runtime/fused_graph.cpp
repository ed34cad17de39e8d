#include "tests/runtime/fused_graph.h"

#include "ir/kernel.h"
#include "ir/parser.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "runtime/cpu/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepc::test {
namespace {

FusedGraph fuse(Graph graph, const TrainOptions& options, std::span<const Pass* const> pipeline) {
  const CpuScratch scratch;
  PassContext context(options);
  context.scratch = &scratch;
  const auto lower = std::ranges::find(pipeline, "lower", &Pass::name);
  run_passes(graph, {pipeline.begin(), lower}, context);
  FusedGraph fused{.before = graph.clone(), .graph = std::move(graph), .plan = {}, .kinds = {}};
  run_passes(fused.graph, {lower, pipeline.end()}, context);
  fused.plan = std::move(*context.plan);
  for (const PlanStep& step : fused.plan.steps)
    fused.kinds.push_back(describe_kernel(fused.graph, step.node, layouts_of(fused.plan)).kind);
  return fused;
}

void expect_close(const std::string& name, const Tensor& own, const RefTensor& want, double tolerance) {
  ASSERT_EQ(own.type(), want.type) << name;
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double a = element(own.view(), i), b = want.at(i);
    if (std::isnan(b) ? std::isnan(a) : a == b) continue;
    ASSERT_NEAR(a, b, tolerance * std::max(1.0, std::fabs(b))) << name << " element " << i;
  }
}

}  // namespace

Tensors FusedGraph::run(const Tensors& inputs, double tolerance, int threads) const {
  const auto expected = run_on_interpreter(before, inputs);
  Tensors outputs = run_on_cpu(graph, plan, inputs, threads);
  for (const auto& [name, tensor] : outputs) expect_close(name, tensor, expected.at(name), tolerance);
  return outputs;
}

FusedGraph fuse_full(Graph graph) {
  TrainOptions options;
  options.fuse = FuseLevel::full;
  return fuse(std::move(graph), options, parse_pipeline("lower,canonicalize,cse,dce,fuse,schedule,plan-memory"));
}

FusedGraph fuse_full(std::string_view text) { return fuse_full(parse(text)); }

FusedGraph fuse_full_step(std::string_view text) {
  TrainOptions options;
  options.fuse = FuseLevel::full;
  options.keep_outputs = true;
  options.grad_inputs = "*";
  options.optimizer.kind = OptimizerKind::none;
  options.want_grad_norm = false;
  options.loss.kind = LossKind::mean_square;
  return fuse(parse(text), options, default_pipeline());
}

Tensors values_for(const Graph& graph) {
  Tensors values;
  for (const GraphInput& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    const auto seed = static_cast<uint32_t>(values.size() + 1);
    values.emplace(input.name, is_float(type.dtype) ? pseudo_random(type, seed) : pseudo_random(type, seed, 0, 2));
  }
  return values;
}

}  // namespace stepc::test
