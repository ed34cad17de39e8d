// unscale: dynamic loss scaling, which --precision fp16 needs. autodiff has multiplied the loss by the state
// `loss_scale`, and with it every gradient; here gradients are divided by it, and the scale finds its next value.
//
//   gradient grad/w %g      ->      gradient grad/w %g · (1 / loss_scale)
//                                   metric loss_scale; metric skipped: whether the norm of the gradients is not finite
//
//   loss_scale'  = skipped ? loss_scale · backoff : (due ? loss_scale · growth : loss_scale)
//   good_steps'  = skipped or due ? 0 : good_steps + 1,   due: good_steps + 1 = interval
//
// The optimizer leaves weights and its state as they were where a step is skipped. The scale never grows to infinity.
// (Micikevicius et al. 2018, section 3.2; torch.amp.GradScaler.)

#include "ir/builder.h"
#include "passes/gradient_norm.h"
#include "passes/loss.h"
#include "passes/pass.h"

namespace stepc {
namespace {

void update_scale(Graph& graph, Builder& b, ValueId scale, ValueId skipped, const LossScaleOptions& options) {
  const ValueId good_steps = graph.add_input(Type{Dtype::i64, {}}, InputRole::state, "loss_scale.good_steps");
  const ValueId next = b.add(good_steps, 1);
  const ValueId zero = b.scalar(0, Dtype::i64);
  const ValueId due = b.binary(Op::less_equal, b.scalar(static_cast<double>(options.interval), Dtype::i64), next);
  const ValueId grown = b.mul(scale, options.growth);
  const ValueId raised = b.select(b.unary(Op::is_inf, grown), scale, grown);
  graph.add_state(scale, b.select(skipped, b.mul(scale, options.backoff), b.select(due, raised, scale)));
  graph.add_state(good_steps, b.select(skipped, zero, b.select(due, zero, next)));
}

bool run(Graph& graph, PassContext& context) {
  const GraphInput* input = graph.find_input(kLossScale);
  if (input == nullptr || context.options.precision != Precision::fp16) return false;
  const ValueId scale = input->value;
  for (const GraphOutput& output : graph.outputs())
    if (output.name == kLossScale) return false;

  Builder b(graph, Origin{Phase::optimizer, {}, {}});
  const ValueId inverse = b.unary(Op::reciprocal, scale);
  for (const GraphOutput& output : std::vector(graph.outputs()))
    if (output.role == OutputRole::gradient)
      graph.redirect_output(output.name, b.mul(output.value, b.cast(inverse, b.dtype(output.value))));
  graph.add_output(scale, OutputRole::metric, std::string(kLossScale));
  const std::vector<GraphOutput> gradients = weight_gradients(graph);
  if (context.options.optimizer.kind == OptimizerKind::none || gradients.empty()) return true;

  const ValueId norm = global_norm(b, gradients);
  const ValueId skipped = b.binary(Op::logical_or, b.unary(Op::is_nan, norm), b.unary(Op::is_inf, norm));
  graph.add_output(skipped, OutputRole::metric, std::string(kSkipped));
  update_scale(graph, b, scale, skipped, context.options.loss_scale);
  return true;
}

constexpr Fact kNeeds[] = {Fact::has_backward};
constexpr Fact kRefuses[] = {Fact::has_optimizer, Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr std::string_view kForbidsAfter[] = {"accumulate"};

}  // namespace

extern const Pass pass_unscale;
const Pass pass_unscale{
    .name = "unscale",
    .summary = "divides gradients by the loss scale and adapts it (--precision fp16)",
    .contract = {.needs = kNeeds,
                 .refuses = kRefuses,
                 .breaks = kBreaks,
                 .forbids_after = kForbidsAfter,
                 .preserves = Preserves::common_outputs,
                 .required = true},
    .run = run,
};

}  // namespace stepc
