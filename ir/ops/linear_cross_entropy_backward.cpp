#include "ir/ops/linear_logits.h"
#include "ir/ops/rows.h"
#include "ir/support/checked.h"
#include "ir/support/error.h"

#include <cmath>

namespace stepc {

namespace {

// linear_cross_entropy_backward(x, w, labels, dloss, bias?) → of dx, dw, dbias those whose attribute is set: the
// gradients of linear_cross_entropy, with its attributes. The formulas stand at its VJP. It has no VJP itself: second
// derivatives come from its decomposition.

constexpr size_t kUpstream = 3, kBias = 4;

struct Wanted {
  explicit Wanted(const Attrs& attrs) : x(attrs.flag("dx")), w(attrs.flag("dw")), bias(attrs.flag("dbias")) {}
  bool x, w, bias;
};

std::vector<Type> infer(const InferArgs& args) {
  const LinearLogits logits = infer_linear_logits(args, kBias);
  const Type loss = loss_type(args.attrs, logits.rows, statistics_dtype(args.in(0).dtype));
  if (args.in(kUpstream) != loss) user_error("dloss {} must be {}", to_string(args.in(kUpstream)), to_string(loss));
  const Wanted wanted(args.attrs);
  if (wanted.bias && !args.has(kBias)) user_error("dbias without a bias");
  std::vector<Type> types;
  if (wanted.x) types.push_back(args.in(0));
  if (wanted.w) types.push_back(args.in(1));
  if (wanted.bias) types.push_back(args.in(kBias));
  if (types.empty()) user_error("at least one of dx, dw and dbias must be set");
  return types;
}

// A product for dx, one for dw and seven operations per logit. That the logits are made again is no part of the
// gradient: kernels say what they execute.
int64_t flops(const Graph& graph, const Node& node) {
  const Wanted wanted(node.attrs);
  return checked_add(checked_mul((wanted.x ? 1 : 0) + (wanted.w ? 1 : 0), linear_logits_flops(graph, node)),
                     checked_mul(7, logit_count(graph, node)));
}

// The gradient of a row's logits in their place.
void differentiate(std::vector<double>& x, int64_t label, double weight, const CrossEntropyRules& rules) {
  double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double element : x) maximum = larger(maximum, element);
  for (const double element : x) sum += std::exp(element - maximum);
  const double log_sum = std::log(sum), lse = maximum + log_sum;
  const double elsewhere = rules.smoothing / static_cast<double>(x.size());
  for (size_t c = 0; c < x.size(); ++c) {
    const double p = std::exp((x[c] - maximum) - log_sum);
    const double q = static_cast<int64_t>(c) == label ? 1 - rules.smoothing + elsewhere : elsewhere;
    x[c] = label == rules.ignore_index ? 0 : weight * ((1 + 2 * rules.z_loss * lse) * p - q);
  }
}

void eval(const EvalArgs& args) {
  const CrossEntropyRules rules(args.node.attrs);
  const Wanted wanted(args.node.attrs);
  const RefTensor &x = args.in(0), &w = args.in(1), &labels = args.in(2), &upstream = args.in(kUpstream);
  LogitRows logits(x, w, args.has(kBias) ? &args.in(kBias) : nullptr);
  RefTensor* const dx = wanted.x ? args.outputs.data() : nullptr;
  RefTensor* const dw = wanted.w ? &args.outputs[wanted.x ? 1 : 0] : nullptr;
  RefTensor* const dbias = wanted.bias ? &args.outputs.back() : nullptr;
  const auto count = static_cast<double>(counted_labels(labels, rules.ignore_index));
  const int64_t depth = logits.depth();
  for (int64_t row = 0; row < labels.numel(); ++row) {
    const int64_t label = labels.integer[static_cast<size_t>(row)];
    check_label("linear_cross_entropy_backward", label, row, logits.classes(), rules);
    const double given = upstream.real[rules.reduction == "none" ? static_cast<size_t>(row) : 0];
    std::vector<double> d = logits.of(row);
    differentiate(d, label, rules.reduction == "mean" ? given / count : given, rules);
    for (int64_t c = 0; c < logits.classes(); ++c) {
      const double of_class = d[static_cast<size_t>(c)];
      for (int64_t k = 0; dx != nullptr && k < depth; ++k)
        dx->real[static_cast<size_t>(row * depth + k)] += of_class * w.real[static_cast<size_t>(c * depth + k)];
      for (int64_t k = 0; dw != nullptr && k < depth; ++k)
        dw->real[static_cast<size_t>(c * depth + k)] += of_class * x.real[static_cast<size_t>(row * depth + k)];
      if (dbias != nullptr) dbias->real[static_cast<size_t>(c)] += of_class;
    }
  }
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Attrs attrs = node.attrs;
  const CrossEntropyRules rules(attrs);
  const Wanted wanted(attrs);
  const ValueId x = node.inputs[0], w = node.inputs[1], labels = node.inputs[2], upstream = node.inputs[kUpstream],
                bias = node.inputs.size() > kBias ? node.inputs[kBias] : kNoValue;
  const ValueId logits = linear_logits(b, x, w, bias);
  const NodeId loss = b.make_node(Op::cross_entropy, {logits, labels}, cross_entropy_attrs(attrs));
  const ValueId gradient =
      logits_gradient(b, rules, to_statistics(b, logits), labels, graph.node(loss).outputs[1], upstream);
  const ValueId d = b.cast(gradient, b.dtype(w));
  const size_t row_axes = b.shape(labels).rank();
  std::vector<ValueId> results;
  if (wanted.x) results.push_back(b.cast(b.contraction(d, w, linear_spec(row_axes, 'y', 'w', 'x')), b.dtype(x)));
  if (wanted.w) results.push_back(b.contraction(d, b.cast(x, b.dtype(w)), linear_spec(row_axes, 'y', 'x', 'w')));
  if (wanted.bias) results.push_back(b.cast(b.sum_to(gradient, b.shape(bias)), b.dtype(bias)));
  return results;
}

}  // namespace

constinit const OpDef op_linear_cross_entropy_backward = {
    .name = "linear_cross_entropy_backward",
    .kind = OpKind::composite,
    .min_inputs = 4,
    .max_inputs = 5,
    .outputs = -1,
    .attrs = {{kCrossEntropyAttrs[0],
               kCrossEntropyAttrs[1],
               kCrossEntropyAttrs[2],
               kCrossEntropyAttrs[3],
               {"dx", AttrKind::boolean, false},
               {"dw", AttrKind::boolean, false},
               {"dbias", AttrKind::boolean, false}}},
    .infer = infer,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
