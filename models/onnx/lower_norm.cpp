#include "ir/support/checked.h"
#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

// What nodes of the norms take when they give no epsilon: the float32 number nearest to 1e-5.
constexpr double kEpsilon = 1e-5F;

// Statistics are computed in float32 or wider whatever the file asks, so only stash types below that are refused.
void check_stash_type(const OnnxNode& n) {
  const int64_t stash = n.integer("stash_type", 1);
  if (stash != 1) refuse_attribute("stash_type", std::to_string(stash), "1 (float32)");
}

Attrs norm_attrs(const OnnxNode& n, size_t axis) {
  return {{"axis", static_cast<int64_t>(axis)}, {"epsilon", n.real("epsilon", kEpsilon)}};
}

void layer_normalization(Lowering& l, const OnnxNode& n) {
  check_stash_type(n);
  const size_t axis = normalize_axis(n.integer("axis", -1), l.shape(0).rank());
  std::vector<ValueId> operands{l.in(0), l.in(1)};
  if (l.has(2)) operands.push_back(l.in(2));
  const NodeId norm = l.b.make_node(Op::layer_norm, std::move(operands), norm_attrs(n, axis));
  const std::vector<ValueId>& results = l.b.graph().node(norm).outputs;
  for (size_t i = 0; i < results.size(); ++i) l.set(i, results[i]);
}

// The scale's dtype is the result's.
void rms_normalization(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  check_stash_type(n);
  const Attrs attrs = norm_attrs(n, normalize_axis(n.integer("axis", -1), l.shape(0).rank()));
  const Dtype dtype = l.type(1).dtype;
  if (dtype == l.type(0).dtype) return l.set(0, b.make(Op::rms_norm, {l.in(0), l.in(1)}, attrs));
  l.set(0, b.mul(b.cast(b.make(Op::rms_norm, {l.in(0)}, attrs), dtype), l.in(1)));
}

// x · scale + bias with one element of each per channel (axis 1)
ValueId scale_channels(Builder& b, ValueId x, ValueId scale, ValueId bias) {
  const size_t rank = b.shape(x).rank();
  return b.add(b.mul(x, along_axis(b, scale, 1, rank)), along_axis(b, bias, 1, rank));
}

// x: (N, C, ...) normalised over each of `groups` groups of channels and everything after them
ValueId normalize_groups(Builder& b, const OnnxNode& n, ValueId x, int64_t groups) {
  const Shape shape = b.shape(x);
  if (shape.rank() < 2 || groups <= 0 || shape[1] % groups != 0)
    user_error("the channels of {} cannot be split into {} groups", to_string(shape), groups);
  const int64_t group_size = shape[1] / groups * numel_between(shape, 2, shape.rank());
  const ValueId grouped = b.reshape(x, {shape[0], groups, group_size});
  return b.reshape(b.make(Op::layer_norm, {grouped}, norm_attrs(n, 2)), shape);
}

// Version 21; the checker refuses version 18, which is deprecated.
void group_normalization(Lowering& l, const OnnxNode& n) {
  check_stash_type(n);
  l.set(0, scale_channels(l.b, normalize_groups(l.b, n, l.in(0), n.integer("num_groups", 1)), l.in(1), l.in(2)));
}

void instance_normalization(Lowering& l, const OnnxNode& n) {
  if (l.shape(0).rank() < 2) user_error("the operand is {}, which has no channels", to_string(l.shape(0)));
  const ValueId x = normalize_groups(l.b, n, l.in(0), l.shape(0)[1]);
  l.set(0, scale_channels(l.b, x, l.in(1), l.in(2)));
}

ValueId mean_over(Builder& b, ValueId x, const std::vector<int64_t>& axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) count = checked_mul(count, b.shape(x)[static_cast<size_t>(axis)]);
  return b.div(b.reduce_sum(x, axes, /*keepdims=*/true), b.scalar_like(static_cast<double>(count), x));
}

// With the given statistics, or in training mode (since version 14) with those of the batch, which also move the
// running ones: running · momentum + batch · (1 − momentum).
void batch_normalization(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const ValueId x = l.in(0);
  const size_t rank = b.shape(x).rank();
  if (rank < 2) user_error("the operand is {}, which has no channels", to_string(b.shape(x)));
  if (n.integer("spatial", 1) != 1) refuse_attribute("spatial", "0", "1");
  const bool training = n.flag("training_mode", false);
  for (size_t i = 1; i < l.outputs(); ++i)
    if (l.wants(i) && (n.opset < 14 || !training))
      user_error("output {} exists only with training_mode = 1, from version 14 on", i);

  ValueId mean = along_axis(b, l.in(3), 1, rank);
  ValueId variance = along_axis(b, l.in(4), 1, rank);
  if (training) {
    std::vector<int64_t> axes = all_axes(rank);
    axes.erase(axes.begin() + 1);
    const double momentum = n.real("momentum", 0.9F);
    const auto moved = [&](ValueId running, ValueId batch) {
      return b.add(b.mul(running, momentum), b.mul(b.reshape(batch, b.shape(running)), 1 - momentum));
    };
    mean = mean_over(b, x, axes);
    const ValueId centred = b.sub(x, mean);
    variance = mean_over(b, b.mul(centred, centred), axes);
    l.set(1, moved(l.in(3), mean));
    l.set(2, moved(l.in(4), variance));
  }
  const ValueId deviation = b.unary(Op::sqrt, b.add(variance, n.real("epsilon", kEpsilon)));
  l.set(0, scale_channels(b, b.div(b.sub(x, mean), deviation), l.in(1), l.in(2)));
}

// (x − E[x]) / (√(E[x²] − E[x]²) + 1e-9), as the operator's function body has it
void mean_variance_normalization(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const ValueId x = l.in(0);
  const std::vector<int64_t> axes =
      normalize_axes(n.integers("axes").value_or(std::vector<int64_t>{0, 2, 3}), b.shape(x).rank());
  const ValueId mean = mean_over(b, x, axes);
  const ValueId variance = b.sub(mean_over(b, b.mul(x, x), axes), b.mul(mean, mean));
  l.set(0, b.div(b.sub(x, mean), b.add(b.unary(Op::sqrt, variance), 1e-9)));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", group_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", rms_normalization},
});

}  // namespace

RuleList norm_rules() { return kRules; }

}  // namespace stepc::onnx_import
