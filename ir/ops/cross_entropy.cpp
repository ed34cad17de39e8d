#include "ir/ops/rows.h"
#include "ir/support/error.h"

#include <cmath>
#include <limits>
#include <string>

namespace stepc {

namespace {

// cross_entropy(logits [N.., C], labels [N..]) → loss, lse [N..], both in the statistics dtype. Per row, t its label:
//
//   lse = log Σ_c exp(x_c)
//   l = lse − (1 − label_smoothing)·x_t − label_smoothing/C · Σ_c x_c + z_loss·lse²
//
// and l = 0 where t is `ignore_index`; any other label outside [0, C) is an error of the input. loss is l (`reduction`
// "none", [N..]), Σ l ("sum") or Σ l over the number of labels that are not ignored ("mean": 0/0, NaN, when there is
// none, as in PyTorch).

std::vector<Type> infer(const InferArgs& args) {
  const Type &logits = args.in(0), &labels = args.in(1);
  if (!is_float(logits.dtype) || logits.shape.rank() == 0) user_error("logits of type {}", to_string(logits));
  if (labels.dtype != Dtype::i64 && labels.dtype != Dtype::i32)
    user_error("labels of {}; they must be i64 or i32", dtype_name(labels.dtype));
  const Dims& dims = logits.shape.dims();
  if (labels.shape != Shape(Dims(dims.begin(), dims.end() - 1)))
    user_error("labels {} for logits {}: one label per row is needed", to_string(labels.shape),
               to_string(logits.shape));
  const std::string& reduction = args.attrs.text("reduction");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    user_error("reduction '{}' is not mean, sum or none", reduction);
  const Type per_row{statistics_dtype(logits.dtype), labels.shape};
  return {reduction == "none" ? per_row : Type{per_row.dtype, Shape()}, per_row};
}

struct Settings {
  explicit Settings(const Node& node)
      : ignore_index(node.attrs.integer("ignore_index")),
        smoothing(node.attrs.real("label_smoothing")),
        z_loss(node.attrs.real("z_loss")),
        reduction(node.attrs.text("reduction")) {}
  int64_t ignore_index;
  double smoothing, z_loss;
  const std::string& reduction;
};

struct LabelMasks {
  ValueId counted;  // [N.., 1]: the label is not ignored
  ValueId here;     // [N.., C]: the class is the label
};

ValueId column_of(Builder& b, ValueId labels) {
  return b.unsqueeze(b.cast(labels, Dtype::i64), b.shape(labels).rank());
}

ValueId counted_rows(Builder& b, ValueId labels, int64_t ignore_index) {
  const ValueId ignored = b.constant(Tensor::of_i64({&ignore_index, 1}, Shape()));
  return b.unary(Op::logical_not, b.binary(Op::equal, column_of(b, labels), ignored));
}

LabelMasks label_masks(Builder& b, ValueId labels, const Shape& logits, int64_t ignore_index) {
  const size_t last = logits.rank() - 1;
  Dims classes(logits.rank(), 1);
  classes[last] = logits[last];
  const ValueId here = b.binary(Op::equal, b.iota(Dtype::i64, Shape(classes), last), column_of(b, labels));
  return {counted_rows(b, labels, ignore_index), here};
}

// x at each row's label, [N.., 1]; at class 0 where the label does not count. A label that is no class becomes an index
// that a gather refuses.
ValueId at_label(Builder& b, ValueId x, ValueId labels, ValueId counted) {
  const Shape& shape = b.shape(x);
  const size_t last = shape.rank() - 1;
  const ValueId column = column_of(b, labels);
  const ValueId zero = b.scalar(0, Dtype::i64);
  const ValueId no_class = b.scalar(static_cast<double>(shape[last]), Dtype::i64);
  const ValueId checked = b.select(b.binary(Op::less, column, zero), no_class, column);
  return b.make(Op::gather_elements, {x, b.select(counted, checked, zero)}, {{"axis", static_cast<int64_t>(last)}});
}

ValueId count_of(Builder& b, ValueId counted, Dtype dtype) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < b.shape(counted).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return b.reduce_sum(b.cast(counted, dtype), axes, /*keepdims=*/false);
}

// With p = exp(x − lse), q the smoothed target ((1 − s)·[c = t] + s/C) and w the gradient of l:
// dx = w·((1 + 2·z_loss·lse)·p − q) where the label counts, else 0; a gradient of lse adds dlse·p.
void vjp(VjpArgs& args) {
  if (!args.needs(0)) return;
  Builder& b = args.b;
  const Settings settings(args.node());
  const ValueId x = to_statistics(b, args.in(0));
  const Shape& shape = b.shape(x);
  const size_t last = shape.rank() - 1;
  const ValueId lse = b.unsqueeze(args.out(1), last);
  const ValueId p = b.unary(Op::exp, b.sub(x, lse));
  ValueId dx = kNoValue;
  if (args.grad(0).valid()) {
    const auto [counted, here] = label_masks(b, args.in(1), shape, settings.ignore_index);
    ValueId w = settings.reduction == "none" ? b.unsqueeze(args.grad(0), last) : args.grad(0);
    if (settings.reduction == "mean") w = b.div(w, count_of(b, counted, b.dtype(w)));
    const ValueId zero = b.scalar_like(0, x);
    const double elsewhere = settings.smoothing / static_cast<double>(shape[last]);
    const ValueId q = b.select(here, b.scalar_like(1 - settings.smoothing + elsewhere, x), b.scalar_like(elsewhere, x));
    const ValueId scaled = settings.z_loss == 0 ? p : b.mul(p, b.add(b.mul(lse, 2 * settings.z_loss), 1.0));
    dx = b.select(counted, b.mul(b.sub(scaled, q), w), zero);
  }
  if (args.grad(1).valid()) {
    const ValueId through_lse = b.mul(p, b.unsqueeze(args.grad(1), last));
    dx = dx.valid() ? b.add(dx, through_lse) : through_lse;
  }
  args.set(0, b.cast(dx, args.graph().dtype(args.in(0))));
}

// Maximum, difference, exponential, sum and the choice of the label; one more sum with smoothing.
int64_t flops(const Graph& graph, const Node& node) {
  return (Settings(node).smoothing == 0 ? 5 : 6) * graph.shape(node.inputs[0]).numel();
}

struct RowLoss {
  double lse, loss;
};

RowLoss row_loss(std::span<const double> x, int64_t label, const Settings& settings) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (const double element : x) maximum = larger(maximum, element);
  double sum_exp = 0, sum = 0;
  for (const double element : x) {
    sum_exp += std::exp(element - maximum);
    sum += element;
  }
  const double lse = maximum + std::log(sum_exp);
  if (label == settings.ignore_index) return {lse, 0};
  double loss = lse - (1 - settings.smoothing) * x[static_cast<size_t>(label)];
  if (settings.smoothing != 0) loss -= settings.smoothing / static_cast<double>(x.size()) * sum;
  return {lse, loss + settings.z_loss * lse * lse};
}

void eval(const EvalArgs& args) {
  const Settings settings(args.node);
  const RefTensor &logits = args.in(0), &labels = args.in(1);
  const Shape& shape = logits.type.shape;
  const auto classes = static_cast<size_t>(shape[shape.rank() - 1]);
  double total = 0, counted = 0;
  for (int64_t row = 0; row < labels.numel(); ++row) {
    const auto r = static_cast<size_t>(row);
    const int64_t label = labels.integer[r];
    if (label != settings.ignore_index && (label < 0 || label >= static_cast<int64_t>(classes)))
      user_error("cross_entropy: label {} at position {} is outside the vocabulary of {} (ignore_index is {})", label,
                 row, classes, settings.ignore_index);
    const RowLoss result = row_loss({logits.real.data() + r * classes, classes}, label, settings);
    args.outputs[1].real[r] = result.lse;
    if (settings.reduction == "none") args.outputs[0].real[r] = result.loss;
    total += result.loss;
    counted += label == settings.ignore_index ? 0 : 1;
  }
  if (settings.reduction == "sum") args.outputs[0].real[0] = total;
  if (settings.reduction == "mean") args.outputs[0].real[0] = total / counted;
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Settings settings(node);
  const ValueId x = to_statistics(b, node.inputs[0]);
  const Shape& shape = graph.shape(node.inputs[0]);
  const size_t last = shape.rank() - 1;
  const ValueId counted = counted_rows(b, node.inputs[1], settings.ignore_index);
  const ValueId zero = b.scalar_like(0, x);

  const ShiftedExp e = shifted_exp(b, x, last, /*dead_rows_vanish=*/false);
  const ValueId log_sum = b.unary(Op::log, e.sum);
  const ValueId lse = b.add(e.shift, log_sum);
  // Weights of the target sum to one, so the shift leaves the loss before it can swallow it.
  const ValueId own = b.sub(at_label(b, x, node.inputs[1], counted), e.shift);
  ValueId loss = b.sub(log_sum, settings.smoothing == 0 ? own : b.mul(own, 1 - settings.smoothing));
  if (settings.smoothing != 0)
    loss =
        b.sub(loss, b.mul(row_sum(b, b.sub(x, e.shift), last), settings.smoothing / static_cast<double>(shape[last])));
  if (settings.z_loss != 0) loss = b.add(loss, b.mul(b.mul(lse, lse), settings.z_loss));
  loss = b.select(counted, loss, zero);

  if (settings.reduction == "none") return {b.squeeze(loss, last), b.squeeze(lse, last)};
  const Type per_row = b.type(loss);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < per_row.shape.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  loss = b.reduce_sum(loss, axes, /*keepdims=*/false);
  if (settings.reduction == "mean") loss = b.div(loss, count_of(b, counted, per_row.dtype));
  return {loss, b.squeeze(lse, last)};
}

}  // namespace

constinit const OpDef op_cross_entropy = {
    .name = "cross_entropy",
    .kind = OpKind::composite,
    .min_inputs = 2,
    .max_inputs = 2,
    .outputs = 2,
    .attrs = {{{"reduction", AttrKind::text},
               {"ignore_index", AttrKind::integer, false, -100},
               {"label_smoothing", AttrKind::real, false},
               {"z_loss", AttrKind::real, false}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
