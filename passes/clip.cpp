// clip: the global gradient norm as metric `grad_norm`, and with --clip-norm the gradients scaled down to it.
//
//   grad_norm = sqrt(Σ over parameters Σ g²)           before clipping
//   scale     = min(1, max_norm / (grad_norm + 1e-6))   torch.nn.utils.clip_grad_norm_
//   g         = g * scale
//
// Gradients of inputs are neither counted nor scaled. The norm is taken in f32 or wider.

#include "ir/builder.h"
#include "ir/support/error.h"
#include "passes/gradient_norm.h"
#include "passes/pass.h"

#include <vector>

namespace stepc {
namespace {

constexpr std::string_view kGradNorm = "grad_norm";
constexpr double kNormEpsilon = 1e-6;

bool run(Graph& graph, PassContext& context) {
  const std::optional<double> max_norm = context.options.clip_norm;
  if (max_norm && !(*max_norm > 0)) user_error("--clip-norm {}: the norm must be positive", *max_norm);
  if (!max_norm && !context.options.want_grad_norm) return false;
  for (const GraphOutput& output : graph.outputs())
    if (output.name == kGradNorm) return false;
  const std::vector<GraphOutput> gradients = weight_gradients(graph);
  if (gradients.empty()) {
    if (max_norm) context.note("nothing to clip: no trainable weight has a gradient");
    return false;
  }

  Builder b(graph, Origin{Phase::optimizer, {}, {}});
  const ValueId norm = global_norm(b, gradients);
  graph.add_output(norm, OutputRole::metric, std::string(kGradNorm));
  if (!max_norm) return true;
  const ValueId ratio = b.div(b.scalar(*max_norm, Dtype::f32), b.add(norm, kNormEpsilon));
  const ValueId scale = b.binary(Op::minimum, ratio, b.scalar(1, Dtype::f32));
  for (const GraphOutput& gradient : gradients)
    graph.redirect_output(gradient.name, b.mul(gradient.value, b.cast(scale, b.dtype(gradient.value))));
  return true;
}

constexpr Fact kNeeds[] = {Fact::has_backward};
constexpr Fact kRefuses[] = {Fact::has_optimizer, Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr std::string_view kForbidsAfter[] = {"accumulate"};

}  // namespace

extern const Pass pass_clip;
const Pass pass_clip{
    .name = "clip",
    .summary = "measures the global gradient norm and scales the gradients down to --clip-norm",
    .contract = {.needs = kNeeds,
                 .refuses = kRefuses,
                 .breaks = kBreaks,
                 .forbids_after = kForbidsAfter,
                 .preserves = Preserves::common_outputs,
                 .required = true},
    .run = run,
};

}  // namespace stepc
