#include "ir/ops/cross_entropy_rows.h"
#include "ir/ops/rows.h"
#include "ir/support/error.h"

namespace stepc {

namespace {

// cross_entropy(logits [N.., C], labels [N..]) → loss, lse [N..], both in the statistics dtype: see
// ir/ops/cross_entropy_rows.h.

std::vector<Type> infer(const InferArgs& args) {
  const Type &logits = args.in(0), &labels = args.in(1);
  if (!is_float(logits.dtype) || logits.shape.rank() == 0) user_error("logits of type {}", to_string(logits));
  const Dims& dims = logits.shape.dims();
  const Shape rows(Dims(dims.begin(), dims.end() - 1));
  check_labels(args, labels, rows);
  const Dtype dtype = statistics_dtype(logits.dtype);
  return {loss_type(args.attrs, rows, dtype), {dtype, rows}};
}

// x at each row's label, [N.., 1]; at class 0 where the label does not count. A label that is no class becomes an index
// that a gather refuses.
ValueId at_label(Builder& b, ValueId x, ValueId labels, ValueId counted) {
  const Shape& shape = b.shape(x);
  const size_t last = shape.rank() - 1;
  const ValueId column = b.unsqueeze(b.cast(labels, Dtype::i64), last);
  const ValueId zero = b.scalar(0, Dtype::i64);
  const ValueId no_class = b.scalar(static_cast<double>(shape[last]), Dtype::i64);
  const ValueId checked = b.select(b.binary(Op::less, column, zero), no_class, column);
  return b.make(Op::gather_elements, {x, b.select(counted, checked, zero)}, {{"axis", static_cast<int64_t>(last)}});
}

// With p = exp(x − lse), q the smoothed target ((1 − s)·[c = t] + s/C) and w the gradient of l:
// dx = w·((1 + 2·z_loss·lse)·p − q) where the label counts, else 0; a gradient of lse adds dlse·p.
void vjp(VjpArgs& args) {
  if (!args.needs(0)) return;
  Builder& b = args.b;
  const ValueId x = to_statistics(b, args.in(0)), lse = args.out(1);
  ValueId dx = kNoValue;
  if (args.grad(0).valid())
    dx = logits_gradient(b, CrossEntropyRules(args.node().attrs), x, args.in(1), lse, args.grad(0));
  if (args.grad(1).valid()) {
    const size_t last = b.shape(x).rank() - 1;
    const ValueId p = b.unary(Op::exp, b.sub(x, b.unsqueeze(lse, last)));
    const ValueId through_lse = b.mul(p, b.unsqueeze(args.grad(1), last));
    dx = dx.valid() ? b.add(dx, through_lse) : through_lse;
  }
  args.set(0, b.cast(dx, args.graph().dtype(args.in(0))));
}

int64_t flops(const Graph& graph, const Node& node) {
  return cross_entropy_flops(CrossEntropyRules(node.attrs), graph.shape(node.inputs[0]).numel());
}

void eval(const EvalArgs& args) {
  const CrossEntropyRules rules(args.node.attrs);
  const RefTensor &logits = args.in(0), &labels = args.in(1);
  const Shape& shape = logits.type.shape;
  const auto classes = static_cast<size_t>(shape[shape.rank() - 1]);
  double total = 0;
  for (int64_t row = 0; row < labels.numel(); ++row) {
    const auto r = static_cast<size_t>(row);
    const int64_t label = labels.integer[r];
    check_label("cross_entropy", label, row, static_cast<int64_t>(classes), rules);
    const RowLoss result = row_loss({logits.real.data() + r * classes, classes}, label, rules);
    args.outputs[1].real[r] = result.lse;
    if (rules.reduction == "none") args.outputs[0].real[r] = result.loss;
    total += result.loss;
  }
  if (rules.reduction == "sum") args.outputs[0].real[0] = total;
  if (rules.reduction == "mean")
    args.outputs[0].real[0] = total / static_cast<double>(counted_labels(labels, rules.ignore_index));
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const CrossEntropyRules rules(node.attrs);
  const ValueId x = to_statistics(b, node.inputs[0]);
  const Shape& shape = graph.shape(node.inputs[0]);
  const size_t last = shape.rank() - 1;
  const ValueId counted = counted_rows(b, node.inputs[1], rules.ignore_index);
  const ValueId zero = b.scalar_like(0, x);

  const ShiftedExp e = shifted_exp(b, x, last, /*dead_rows_vanish=*/false);
  const ValueId log_sum = b.unary(Op::log, e.sum);
  const ValueId lse = b.add(e.shift, log_sum);
  // Weights of the target sum to one, so the shift leaves the loss before it can swallow it.
  const ValueId own = b.sub(at_label(b, x, node.inputs[1], counted), e.shift);
  ValueId loss = b.sub(log_sum, rules.smoothing == 0 ? own : b.mul(own, 1 - rules.smoothing));
  if (rules.smoothing != 0)
    loss = b.sub(loss, b.mul(row_sum(b, b.sub(x, e.shift), last), rules.smoothing / static_cast<double>(shape[last])));
  if (rules.z_loss != 0) loss = b.add(loss, b.mul(b.mul(lse, lse), rules.z_loss));
  loss = b.select(counted, loss, zero);

  if (rules.reduction == "none") return {b.squeeze(loss, last), b.squeeze(lse, last)};
  const Type per_row = b.type(loss);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < per_row.shape.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  loss = b.reduce_sum(loss, axes, /*keepdims=*/false);
  if (rules.reduction == "mean") loss = b.div(loss, count_of(b, counted, per_row.dtype));
  return {loss, b.squeeze(lse, last)};
}

}  // namespace

constinit const OpDef op_cross_entropy = {
    .name = "cross_entropy",
    .kind = OpKind::composite,
    .min_inputs = 2,
    .max_inputs = 2,
    .outputs = 2,
    .attrs = kCrossEntropyAttrs,
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
