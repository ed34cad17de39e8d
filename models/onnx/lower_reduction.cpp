#include "ir/support/checked.h"
#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

struct Axes {
  std::vector<int64_t> axes;
  bool keepdims = true;
};

// Axes by attribute before version `since` (18, but 13 for ReduceSum), by operand from then on. No axes means all of
// them, or with noop_with_empty_axes none, which leaves only the elementwise part of the operation.
Axes reduced_axes(const Lowering& l, const OnnxNode& n) {
  const int64_t since = n.op() == "ReduceSum" ? 13 : 18;
  std::vector<int64_t> axes = integers_since(l, n, since, "axes", 1).value_or(std::vector<int64_t>{});
  const size_t rank = l.shape(0).rank();
  if (axes.empty() && !n.flag("noop_with_empty_axes", false)) axes = all_axes(rank);
  return {normalize_axes(std::move(axes), rank), n.flag("keepdims", true)};
}

template <Op op>
void plain(Lowering& l, const OnnxNode& n) {
  const Axes r = reduced_axes(l, n);
  l.set(0, l.b.reduce(op, l.in(0), r.axes, r.keepdims));
}

// The sum divided by the number of elements, as PyTorch's mean does it: raise-aten looks for this form.
void mean(Lowering& l, const OnnxNode& n) {
  const Axes r = reduced_axes(l, n);
  int64_t count = 1;
  for (const int64_t axis : r.axes) count = checked_mul(count, l.shape(0)[static_cast<size_t>(axis)]);
  const ValueId sum = l.b.reduce_sum(l.in(0), r.axes, r.keepdims);
  l.set(0, r.axes.empty() ? sum : l.b.div(sum, l.b.scalar_like(static_cast<double>(count), sum)));
}

ValueId sum_of(Lowering& l, const OnnxNode& n, ValueId terms) {
  const Axes r = reduced_axes(l, n);
  return l.b.reduce_sum(terms, r.axes, r.keepdims);
}

void l1(Lowering& l, const OnnxNode& n) { l.set(0, sum_of(l, n, l.b.unary(Op::abs, l.in(0)))); }

void sum_square(Lowering& l, const OnnxNode& n) { l.set(0, sum_of(l, n, l.b.mul(l.in(0), l.in(0)))); }

// Integers go through float64, where the root is truncated.
void l2(Lowering& l, const OnnxNode& n) {
  const Dtype dtype = l.type(0).dtype;
  const ValueId sum = sum_of(l, n, l.b.mul(l.in(0), l.in(0)));
  l.set(0, l.b.cast(l.b.unary(Op::sqrt, l.b.cast(sum, is_float(dtype) ? dtype : Dtype::f64)), dtype));
}

void log_sum(Lowering& l, const OnnxNode& n) { l.set(0, l.b.unary(Op::log, sum_of(l, n, l.in(0)))); }

// log Σ exp(x) = m + log Σ exp(x − m), m = max x, or 0 where that is infinite so that no ∞ − ∞ arises.
void log_sum_exp(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Axes r = reduced_axes(l, n);
  const ValueId x = l.in(0);
  const ValueId largest = b.reduce(Op::reduce_max, x, r.axes, /*keepdims=*/true);
  const ValueId m = b.select(b.unary(Op::is_inf, largest), b.scalar_like(0, largest), largest);
  const ValueId sum = b.reduce_sum(b.unary(Op::exp, b.sub(x, m)), r.axes, /*keepdims=*/true);
  const ValueId kept = b.add(m, b.unary(Op::log, sum));
  l.set(0, b.reshape(kept, reduce(b.shape(x), r.axes, r.keepdims)));
}

template <Op op>
void arg(Lowering& l, const OnnxNode& n) {
  const size_t axis = normalize_axis(n.integer("axis", 0), l.shape(0).rank());
  l.set(0, l.b.make(op, {l.in(0)},
                    {{"axis", static_cast<int64_t>(axis)},
                     {"keepdims", n.flag("keepdims", true)},
                     {"select_last_index", n.flag("select_last_index", false)}}));
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"ArgMax", arg<Op::arg_max>},
    {"ArgMin", arg<Op::arg_min>},
    {"ReduceL1", l1},
    {"ReduceL2", l2},
    {"ReduceLogSum", log_sum},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", plain<Op::reduce_max>},
    {"ReduceMean", mean},
    {"ReduceMin", plain<Op::reduce_min>},
    {"ReduceProd", plain<Op::reduce_prod>},
    {"ReduceSum", plain<Op::reduce_sum>},
    {"ReduceSumSquare", sum_square},
});

}  // namespace

RuleList reduction_rules() { return kRules; }

}  // namespace stepc::onnx_import
