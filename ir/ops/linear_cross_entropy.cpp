#include "ir/ops/linear_logits.h"
#include "ir/support/checked.h"

namespace stepc {

namespace {

// linear_cross_entropy(x [N.., K], w [C, K], labels [N..], bias [C]?) → loss, in the statistics dtype: cross_entropy of
// the logits x·wᵀ + bias (ir/ops/cross_entropy_rows.h), which need not exist as a tensor.

constexpr size_t kBias = 3;

std::vector<Type> infer(const InferArgs& args) {
  const LinearLogits logits = infer_linear_logits(args, kBias);
  return {loss_type(args.attrs, logits.rows, statistics_dtype(args.in(0).dtype))};
}

// With d the gradient of the logits that cross_entropy has: dx = d·w, dw = dᵀ·x, dbias = Σ_rows d.
//
// All by linear_cross_entropy_backward, which makes the logits once more rather than have them saved.
void vjp(VjpArgs& args) {
  Attrs attrs = args.node().attrs;
  attrs.set("dx", args.needs(0));
  attrs.set("dw", args.needs(1));
  attrs.set("dbias", args.needs(kBias));
  std::vector<ValueId> operands{args.in(0), args.in(1), args.in(2), args.grad(0)};
  if (args.has(kBias)) operands.push_back(args.in(kBias));
  const NodeId backward = args.b.make_node(Op::linear_cross_entropy_backward, std::move(operands), std::move(attrs));
  size_t result = 0;
  for (const size_t i : {size_t{0}, size_t{1}, kBias})
    if (args.needs(i)) args.set(i, args.graph().node(backward).outputs[result++]);
}

int64_t flops(const Graph& graph, const Node& node) {
  return checked_add(linear_logits_flops(graph, node),
                     cross_entropy_flops(CrossEntropyRules(node.attrs), logit_count(graph, node)));
}

void eval(const EvalArgs& args) {
  const CrossEntropyRules rules(args.node.attrs);
  const RefTensor& labels = args.in(2);
  LogitRows logits(args.in(0), args.in(1), args.has(kBias) ? &args.in(kBias) : nullptr);
  RefTensor& loss = args.outputs[0];
  double total = 0;
  for (int64_t row = 0; row < labels.numel(); ++row) {
    const int64_t label = labels.integer[static_cast<size_t>(row)];
    check_label("linear_cross_entropy", label, row, logits.classes(), rules);
    const double of_row = row_loss(logits.of(row), label, rules).loss;
    if (rules.reduction == "none") loss.real[static_cast<size_t>(row)] = of_row;
    total += of_row;
  }
  if (rules.reduction == "sum") loss.real[0] = total;
  if (rules.reduction == "mean") loss.real[0] = total / static_cast<double>(counted_labels(labels, rules.ignore_index));
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId labels = node.inputs[2];
  const Attrs attrs = cross_entropy_attrs(node.attrs);
  const ValueId logits =
      linear_logits(b, node.inputs[0], node.inputs[1], node.inputs.size() > kBias ? node.inputs[kBias] : kNoValue);
  return {b.make(Op::cross_entropy, {logits, labels}, attrs)};
}

}  // namespace

constinit const OpDef op_linear_cross_entropy = {
    .name = "linear_cross_entropy",
    .kind = OpKind::composite,
    .min_inputs = 3,
    .max_inputs = 4,
    .attrs = kCrossEntropyAttrs,
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
