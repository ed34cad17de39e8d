#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>
#include <limits>
#include <optional>

namespace stepc::onnx_import {
namespace {

// Stands for "no label is ignored": no label can have this value.
constexpr int64_t kIgnoreNothing = std::numeric_limits<int32_t>::min();

struct LossForm {
  std::string reduction;
  std::optional<int64_t> ignore_index;
};

// Scores are (N, C, d1, ...), labels (N, d1, ...), weights (C).
LossForm loss_form(const Lowering& l, const OnnxNode& n) {
  LossForm form{n.text("reduction", "mean"), std::nullopt};
  if (form.reduction != "mean" && form.reduction != "sum" && form.reduction != "none")
    refuse_attribute("reduction", form.reduction, "mean, sum, none");
  if (n.has("ignore_index")) form.ignore_index = n.integer("ignore_index", 0);
  const Shape& scores = l.shape(0);
  if (scores.rank() < 2) user_error("scores are {} where (N, C, ...) is expected", to_string(scores));
  if (l.shape(1) != reduce(scores, std::array<int64_t, 1>{1}, /*keepdims=*/false))
    user_error("labels are {} for scores {}", to_string(l.shape(1)), to_string(scores));
  if (l.has(2) && l.shape(2) != Shape{scores[1]})
    user_error("weights are {} for scores {}", to_string(l.shape(2)), to_string(scores));
  return form;
}

ValueId total(Builder& b, ValueId v) { return b.reduce_sum(v, all_axes(b.shape(v).rank()), /*keepdims=*/false); }

// −w[t] · log_prob[t] per label t, where w is 1 without weights and 0 for an ignored label; the mean is over Σ w.
ValueId negative_log_likelihood(Lowering& l, const LossForm& form, ValueId log_prob) {
  Builder& b = l.b;
  ValueId label = l.in(1);
  ValueId counts;  // the label is not ignored
  if (form.ignore_index) {
    const ValueId ignored = b.binary(Op::equal, label, b.scalar_like(static_cast<double>(*form.ignore_index), label));
    counts = b.unary(Op::logical_not, ignored);
    label = b.select(ignored, b.scalar_like(0, label), label);
  }
  const ValueId picked = b.make(Op::gather_elements, {log_prob, b.unsqueeze(label, 1)}, {{"axis", int64_t{1}}});
  ValueId loss = b.neg(b.squeeze(picked, 1));
  const ValueId zero = b.scalar_like(0, loss);
  if (counts.valid()) loss = b.select(counts, loss, zero);

  ValueId weight;
  if (l.has(2)) {
    weight = b.gather(l.in(2), label, 0);
    if (counts.valid()) weight = b.select(counts, weight, zero);
    loss = b.mul(loss, weight);
  }
  if (form.reduction == "none") return loss;
  if (form.reduction == "sum") return total(b, loss);
  if (!weight.valid() && !counts.valid())
    return b.div(total(b, loss), b.scalar_like(static_cast<double>(b.shape(loss).numel()), loss));
  return b.div(total(b, loss), total(b, weight.valid() ? weight : b.cast(counts, b.dtype(loss))));
}

void negative_log_likelihood_loss(Lowering& l, const OnnxNode& n) {
  l.set(0, negative_log_likelihood(l, loss_form(l, n), l.in(0)));
}

// cross_entropy wants the classes last: (N, C, d...) → (N, d..., C)
ValueId cross_entropy(Lowering& l, const LossForm& form) {
  Builder& b = l.b;
  std::vector<int64_t> perm = all_axes(l.shape(0).rank());
  perm.erase(perm.begin() + 1);
  perm.push_back(1);
  const ValueId loss =
      b.make(Op::cross_entropy, {b.transpose(l.in(0), std::move(perm)), l.in(1)},
             {{"reduction", form.reduction}, {"ignore_index", form.ignore_index.value_or(kIgnoreNothing)}});
  return b.cast(loss, l.type(0).dtype);
}

// The composite where it says it all; class weights, or a second output log_prob, need the logarithms themselves.
void softmax_cross_entropy_loss(Lowering& l, const OnnxNode& n) {
  const LossForm form = loss_form(l, n);
  if (!l.has(2) && !l.wants(1)) return l.set(0, cross_entropy(l, form));
  const ValueId log_prob = l.b.make(Op::log_softmax, {l.in(0)}, {{"axis", int64_t{1}}});
  l.set(0, negative_log_likelihood(l, form, log_prob));
  l.set(1, log_prob);
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
});

}  // namespace

RuleList loss_rules() { return kRules; }

}  // namespace stepc::onnx_import
