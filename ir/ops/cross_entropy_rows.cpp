#include "ir/ops/cross_entropy_rows.h"

#include "ir/finite_attr.h"
#include "ir/ops/rows.h"
#include "ir/support/checked.h"
#include "ir/support/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepc {

namespace {

ValueId column_of(Builder& b, ValueId labels) {
  return b.unsqueeze(b.cast(labels, Dtype::i64), b.shape(labels).rank());
}

// [N.., C]: whether the class is the label.
ValueId is_label(Builder& b, ValueId labels, const Shape& logits) {
  const size_t last = logits.rank() - 1;
  Dims classes(logits.rank(), 1);
  classes[last] = logits[last];
  return b.binary(Op::equal, b.iota(Dtype::i64, Shape(classes), last), column_of(b, labels));
}

}  // namespace

Attrs cross_entropy_attrs(const Attrs& attrs) {
  Attrs own;
  for (const AttrSpec& spec : kCrossEntropyAttrs)
    if (!spec.key.empty()) own.set(spec.key, *attrs.find(spec.key));
  return own;
}

void check_labels(const InferArgs& args, const Type& labels, const Shape& rows) {
  if (labels.dtype != Dtype::i64 && labels.dtype != Dtype::i32)
    user_error("labels of {}; they must be i64 or i32", dtype_name(labels.dtype));
  if (labels.shape != rows)
    user_error("labels {} for rows {}: one label per row is needed", to_string(labels.shape), to_string(rows));
  for (const std::string_view key : {"label_smoothing", "z_loss"}) finite_attr(args.attrs, key);
  const std::string& reduction = args.attrs.text("reduction");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    user_error("reduction '{}' is not mean, sum or none", reduction);
}

Type loss_type(const Attrs& attrs, const Shape& rows, Dtype dtype) {
  return {dtype, attrs.text("reduction") == "none" ? rows : Shape()};
}

// Maximum, difference, exponential, sum and the choice of the label; one more sum with smoothing.
int64_t cross_entropy_flops(const CrossEntropyRules& rules, int64_t logits) {
  return checked_mul(rules.smoothing == 0 ? 5 : 6, logits);
}

ValueId counted_rows(Builder& b, ValueId labels, int64_t ignore_index) {
  const ValueId ignored = b.constant(Tensor::of_i64({&ignore_index, 1}, Shape()));
  return b.unary(Op::logical_not, b.binary(Op::equal, column_of(b, labels), ignored));
}

ValueId count_of(Builder& b, ValueId counted, Dtype dtype) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < b.shape(counted).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return b.reduce_sum(b.cast(counted, dtype), axes, /*keepdims=*/false);
}

// The formula stands at the VJP of cross_entropy.
ValueId logits_gradient(Builder& b, const CrossEntropyRules& rules, ValueId x, ValueId labels, ValueId lse,
                        ValueId upstream) {
  const Shape& shape = b.shape(x);
  const size_t last = shape.rank() - 1;
  lse = b.unsqueeze(lse, last);
  const ValueId p = b.unary(Op::exp, b.sub(x, lse));
  const ValueId counted = counted_rows(b, labels, rules.ignore_index);
  ValueId w = rules.reduction == "none" ? b.unsqueeze(upstream, last) : upstream;
  if (rules.reduction == "mean") w = b.div(w, count_of(b, counted, b.dtype(w)));
  const ValueId zero = b.scalar_like(0, x);
  const double elsewhere = rules.smoothing / static_cast<double>(shape[last]);
  const ValueId q = b.select(is_label(b, labels, shape), b.scalar_like(1 - rules.smoothing + elsewhere, x),
                             b.scalar_like(elsewhere, x));
  const ValueId scaled = rules.z_loss == 0 ? p : b.mul(p, b.add(b.mul(lse, 2 * rules.z_loss), 1.0));
  return b.select(counted, b.mul(b.sub(scaled, q), w), zero);
}

void check_label(std::string_view op, int64_t label, int64_t row, int64_t classes, const CrossEntropyRules& rules) {
  if (label == rules.ignore_index || (label >= 0 && label < classes)) return;
  user_error("{}: label {} at position {} is outside the vocabulary of {} (ignore_index is {})", op, label, row,
             classes, rules.ignore_index);
}

RowLoss row_loss(std::span<const double> x, int64_t label, const CrossEntropyRules& rules) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (const double element : x) maximum = larger(maximum, element);
  double sum_exp = 0, sum = 0;
  for (const double element : x) {
    sum_exp += std::exp(element - maximum);
    sum += element;
  }
  const double lse = maximum + std::log(sum_exp);
  if (label == rules.ignore_index) return {lse, 0};
  double loss = lse - (1 - rules.smoothing) * x[static_cast<size_t>(label)];
  if (rules.smoothing != 0) loss -= rules.smoothing / static_cast<double>(x.size()) * sum;
  return {lse, loss + rules.z_loss * lse * lse};
}

int64_t counted_labels(const RefTensor& labels, int64_t ignore_index) {
  return labels.numel() - std::ranges::count(labels.integer, ignore_index);
}

}  // namespace stepc
