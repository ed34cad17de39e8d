// clip: the global gradient norm as metric `grad_norm`, and with --clip-norm the gradients scaled down to it.
//
//   grad_norm = sqrt(Σ over parameters Σ g²)           before clipping
//   scale     = min(1, max_norm / (grad_norm + 1e-6))   torch.nn.utils.clip_grad_norm_
//   g         = g * scale
//
// Gradients of inputs are neither counted nor scaled. The norm is taken in f32 or wider.

#include "ir/builder.h"
#include "ir/support/error.h"
#include "passes/pass.h"

#include <numeric>
#include <vector>

namespace stepc {
namespace {

constexpr std::string_view kGradNorm = "grad_norm";
constexpr double kNormEpsilon = 1e-6;

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Adds neighbours until one is left: the error grows with the logarithm of the number of terms.
ValueId pairwise_sum(Builder& b, std::vector<ValueId> terms) {
  while (terms.size() > 1) {
    std::vector<ValueId> sums;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) sums.push_back(b.add(terms[i], terms[i + 1]));
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}

ValueId global_norm(Builder& b, std::span<const GraphOutput> gradients) {
  std::vector<ValueId> squares;
  for (const GraphOutput& gradient : gradients) {
    const ValueId g = b.dtype(gradient.value) == Dtype::f64 ? gradient.value : b.cast(gradient.value, Dtype::f32);
    squares.push_back(b.cast(b.reduce_sum(b.mul(g, g), all_axes(b.shape(g)), /*keepdims=*/false), Dtype::f32));
  }
  return b.unary(Op::sqrt, pairwise_sum(b, std::move(squares)));
}

bool run(Graph& graph, PassContext& context) {
  const std::optional<double> max_norm = context.options.clip_norm;
  if (max_norm && !(*max_norm > 0)) user_error("--clip-norm {}: the norm must be positive", *max_norm);
  if (!max_norm && !context.options.want_grad_norm) return false;
  std::vector<GraphOutput> gradients;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.name == kGradNorm) return false;
    if (output.role == OutputRole::gradient && output.name.starts_with("grad/")) gradients.push_back(output);
  }
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
