#include "tools/driver/step.h"

#include "ir/attention.h"
#include "ir/constant_store.h"
#include "ir/op_def.h"
#include "ir/printer.h"
#include "ir/support/checked.h"
#include "passes/pipelines.h"
#include "tools/driver/dump.h"
#include "tools/driver/pass_setup.h"

namespace stepc {
namespace {

// What the model asks for: attention with every pair of a query and a key, and without the scores that its backward
// computes again, whether it is one node or came apart.
int64_t model_flops(const Graph& graph, const Node& node) {
  if (node.op != Op::attention && node.op != Op::attention_backward) return node_cost(graph, node).flops;
  const Attention attention =
      bind_attention(node.attrs, graph.shape(node.inputs[0]), graph.shape(node.inputs[1]), graph.shape(node.inputs[2]));
  const int64_t forward = checked_mul(2 * (attention.depth + attention.value_depth), attention.scores_shape().numel());
  return node.op == Op::attention ? forward : checked_mul(2, forward);
}

int64_t flops_of(const Graph& graph, auto in_phase) {
  int64_t flops = 0;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    if (in_phase(graph.node(id).origin.phase)) flops += model_flops(graph, graph.node(id));
  return flops;
}

PhaseFlops phase_flops(const Graph& graph) {
  return {flops_of(graph, [](Phase phase) { return phase <= Phase::loss; }),
          flops_of(graph, [](Phase phase) { return phase == Phase::backward; }),
          /*recompute=*/0};
}

}  // namespace

int64_t forward_flops(const Graph& graph) {
  return flops_of(graph, [](Phase) { return true; });
}

std::optional<int64_t> token_positions(const Graph& graph) {
  std::optional<int64_t> rows;
  for (const GraphInput& input : graph.inputs()) {
    if (input.role != InputRole::data) continue;
    const auto& [dtype, shape] = graph.type(input.value);
    if (is_integer(dtype) && shape.rank() == 2) return shape.numel();
    if (is_float(dtype) && shape.rank() == 3 && !rows) rows = checked_mul(shape[0], shape[1]);
  }
  return rows;
}

Step build_step(Model& model, const DriverOptions& options, const LibraryScratch* scratch) {
  PassSetup setup(options);
  PassContext& context = setup.context;
  context.scratch = scratch;
  Step step;
  step.device = context.device;
  step.graph = std::move(model.import.graph);
  const std::optional<DumpTarget> dump = dump_target(options);
  RunnerOptions runner;
  runner.stop_after = options.stop_after;
  runner.skip = {options.skip.begin(), options.skip.end()};
  runner.bisect = options.bisect;
  runner.dump = [&](const Graph& graph, std::string_view pass, size_t position) {
    if (pass == "raise-composites") step.attention = attention_flops(graph, setup.train);
    if (pass == "autodiff") step.flops = phase_flops(graph);
    if (pass == "recompute-cheap" && step.flops)
      step.flops->recompute = flops_of(graph, [](Phase phase) { return phase == Phase::recompute; });
    if (dump) dump->write(graph, pass, position);
  };
  step.passes = run_passes(step.graph, default_pipeline(), context, runner);
  step.optimizer_flops = flops_of(step.graph, [](Phase phase) { return phase == Phase::optimizer; });
  step.saved = saved_tensors(step.graph, Layouts(step.graph));
  step.plan = std::move(context.plan);
  step.loss = context.loss.value_or(setup.train.loss);
  step.fusion = std::move(context.fusion);
  return step;
}

}  // namespace stepc
