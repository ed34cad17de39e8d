// accumulate: makes one graph of a micro-step program and an update program (ir/graph.h, InputRole::accumulator).
//
//   loss loss_sum %l, metric loss_count %n, gradient grad/w %g
//     ->
//   micro-step:  %l' = accumulated/loss_sum + %l;  %n' = accumulated/loss_count + %n;  %g' = accumulated/grad/w + %g
//   update:      loss loss %l' / %n', gradient grad/w %g' / %n'
//
// The loss pass left a sum and, unless the loss is a sum by nature, its count, so that the average is over the counted
// elements of all micro-batches together, as if they had been one batch. Sums are kept in f32 or wider.

#include "ir/builder.h"
#include "ir/support/error.h"
#include "passes/loss.h"
#include "passes/pass.h"

#include <vector>

namespace stepc {
namespace {

// sum' = accumulator + cast(value), in the micro-step; right after the value, so that the value can be freed at once.
ValueId accumulate(Graph& graph, ValueId value, std::string_view output_name) {
  const Type type{graph.dtype(value) == Dtype::f64 ? Dtype::f64 : Dtype::f32, graph.shape(value)};
  const ValueId accumulator = graph.add_input(type, InputRole::accumulator, "accumulated/" + std::string(output_name));
  const NodeId producer = graph.value(value).producer;
  Origin origin = producer.valid() ? graph.node(producer).origin : Origin{};
  origin.phase = Phase::backward;
  Builder b(graph, std::move(origin), producer.valid() ? graph.next(producer) : graph.first());
  const ValueId sum = b.add(accumulator, b.cast(value, type.dtype));
  graph.add_state(accumulator, sum);
  return sum;
}

bool run(Graph& graph, PassContext& context) {
  if (context.options.accumulate < 1) user_error("--accumulate {}: at least 1", context.options.accumulate);
  if (context.options.accumulate == 1 || graph.accumulates()) return false;

  std::vector<GraphOutput> gradients;
  ValueId loss = kNoValue;
  ValueId count = kNoValue;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.name.starts_with("gradin/"))
      user_error("--accumulate with --grad-inputs: the inputs differ from micro-step to micro-step");
    if (output.role == OutputRole::gradient) gradients.push_back(output);
    if (output.name == kLossSum) loss = output.value;
    if (output.name == kLossCount) count = output.value;
  }
  if (!loss.valid()) user_error("--accumulate: the graph has no output '{}'; the loss pass leaves it", kLossSum);

  Builder update(graph, Origin{Phase::optimizer, {}, {}});
  loss = accumulate(graph, loss, kLossSum);
  if (count.valid()) count = accumulate(graph, count, kLossCount);
  const auto average = [&](ValueId sum) {
    return count.valid() ? update.div(sum, update.cast(count, graph.dtype(sum))) : sum;
  };
  for (const GraphOutput& gradient : gradients) {
    const ValueId mean = average(accumulate(graph, gradient.value, gradient.name));
    graph.redirect_output(gradient.name, update.cast(mean, graph.dtype(gradient.value)));
  }
  graph.remove_output(kLossSum);
  if (count.valid()) graph.remove_output(kLossCount);
  graph.add_output(average(loss), OutputRole::loss, std::string(loss_output_name(graph)));
  return true;
}

constexpr Fact kNeeds[] = {Fact::has_loss, Fact::has_backward};
constexpr Fact kRefuses[] = {Fact::has_optimizer, Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_accumulate;
const Pass pass_accumulate{
    .name = "accumulate",
    .summary = "sums loss and gradients over micro-steps (--accumulate N) and averages them once in the update",
    .contract = {.needs = kNeeds,
                 .refuses = kRefuses,
                 .breaks = kBreaks,
                 .preserves = Preserves::common_outputs,
                 .required = true},
    .run = run,
};

}  // namespace stepc
