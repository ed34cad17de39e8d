#include "ir/ops/attention_scores.h"
#include "ir/ops/rows.h"
#include "ir/support/checked.h"

#include <cmath>
#include <limits>

namespace stepc {

namespace {

// attention(q, k, v, mask?, offset?) → o [B, H, S, Dv], lse [B, H, S]: o = dropout(softmax(scores))·v with the scores
// of ir/attention.h, lse their log-sum-exp in the statistics dtype. The mask is a bool (true: attend) or is added to
// the scores. A query that no key is left for is dead: its output is 0, its lse −∞, and no gradient flows through it.

std::vector<Type> infer(const InferArgs& args) {
  const Attention attention = infer_attention(args, kAttentionMask);
  return {{args.in(0).dtype, {attention.batch, attention.heads, attention.queries, attention.value_depth}},
          {statistics_dtype(args.in(0).dtype), {attention.batch, attention.heads, attention.queries}}};
}

// With P = exp(s − lse) and Δ = Σ_d do·o: dv = Pᵀ·do, ds = P∘(do·vᵀ − Δ), dq = scale·ds·k, dk = scale·dsᵀ·q, dmask =
// ds.
//
// By attention_backward, which never stores the scores. A gradient of lse is rare and comes from primitives
// (attention_gradients).
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId d_o = args.grad(0).valid() ? args.grad(0) : b.zeros_like(args.out(0));
  if (!args.grad(1).valid()) {
    Attrs attrs = args.node().attrs;
    attrs.set("mask_gradient", args.needs(3));
    std::vector<ValueId> read{args.in(0), args.in(1), args.in(2), args.out(0), args.out(1), d_o};
    for (size_t i = kAttentionMask; i < args.node().inputs.size(); ++i) read.push_back(args.node().inputs[i]);
    const NodeId backward = b.make_node(Op::attention_backward, std::move(read), std::move(attrs));
    for (size_t i = 0; i < args.graph().node(backward).outputs.size(); ++i)
      if (args.needs(i)) args.set(i, args.graph().node(backward).outputs[i]);
    return;
  }
  const AttentionOperands operands = attention_operands(args.node(), kAttentionMask);
  const AttentionGradients gradients =
      attention_gradients(b, bound_attention(args.graph(), args.node()), operands, args.out(0), d_o, args.grad(1));
  if (args.needs(0)) args.set(0, gradients.q);
  if (args.needs(1)) args.set(1, gradients.k);
  if (args.needs(2)) args.set(2, gradients.v);
  if (args.needs(3)) {
    const Type& mask = args.graph().type(args.in(3));
    args.set(3, b.cast(b.sum_to(gradients.scores, mask.shape), mask.dtype));
  }
}

// The two contractions over the pairs within the limits; softmax's few operations per pair are not counted, as is
// usual.
int64_t flops(const Graph& graph, const Node& node) {
  const Attention attention = bound_attention(graph, node);
  return checked_mul(2, checked_mul(attention.pairs(), checked_add(attention.depth, attention.value_depth)));
}

void eval(const EvalArgs& args) {
  const RefTensor& v = args.in(2);
  const Attention a = bind_attention(args.node.attrs, args.in(0).type.shape, args.in(1).type.shape, v.type.shape);
  ScoreRows rows(a, args, kAttentionMask);
  for (int64_t row = 0; row < a.batch * a.heads * a.queries; ++row) {
    const int64_t batch = row / (a.heads * a.queries), head = row / a.queries % a.heads;
    rows.compute(batch, head, row % a.queries);
    double maximum = -std::numeric_limits<double>::infinity();
    for (const double score : rows.scores) maximum = larger(maximum, score);
    double& lse = args.outputs[1].real[static_cast<size_t>(row)];
    lse = maximum;
    if (maximum == -std::numeric_limits<double>::infinity()) continue;
    double sum = 0;
    for (const double score : rows.scores) sum += std::exp(score - maximum);
    lse = maximum + std::log(sum);
    double* o = args.outputs[0].real.data() + row * a.value_depth;
    const double* values = v.real.data() + (batch * a.key_heads + head / a.group()) * a.keys * a.value_depth;
    for (int64_t key = 0; key < a.keys; ++key) {
      const auto j = static_cast<size_t>(key);
      const double p = std::exp(rows.scores[j] - maximum) / sum * rows.kept[j];
      for (int64_t d = 0; d < a.value_depth; ++d) o[d] += p * values[key * a.value_depth + d];
    }
  }
}

// Into contractions and a softmax, so that autodiff still sees softmax where the composite is refused before it. When
// lse is used, as by attention_backward, softmax is written out to share its sum.
std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Attention attention = bound_attention(graph, node);
  const AttentionOperands operands = attention_operands(node, kAttentionMask);
  const ValueId v = operands.v;
  const ValueId scores = score_nodes(b, attention, operands).scores;
  ValueId p = kNoValue, lse = kNoValue;
  if (graph.is_used(node.outputs[1])) {
    const ShiftedExp e = shifted_exp(b, scores, 3, /*dead_rows_vanish=*/true);
    lse = b.squeeze(b.add(e.shift, b.unary(Op::log, e.sum)), 3);
    const ValueId dead = b.binary(Op::equal, e.sum, b.scalar_like(0, e.sum));
    p = b.div(e.exp, b.select(dead, b.scalar_like(1, e.sum), e.sum));
  } else {
    p = b.make(Op::softmax, {scores}, {{"axis", int64_t{3}}, {"zero_dead_rows", true}});
  }
  p = dropped(b, attention, kept_weights(b, attention, operands), p);
  return {grouped_contraction(b, attention, b.cast(p, graph.dtype(v)), v, "bh*st,bhtd->bh*sd"), lse};
}

}  // namespace

constinit const OpDef op_attention = {
    .name = "attention",
    .kind = OpKind::composite,
    .min_inputs = 3,
    .max_inputs = 5,
    .outputs = 2,
    .attrs = kAttentionAttrs,
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
