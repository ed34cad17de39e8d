#include "ir/ops/attention_scores.h"
#include "ir/support/checked.h"

#include <cmath>
#include <limits>

namespace stepc {

namespace {

// attention_backward(q, k, v, o, lse, do, mask?, offset?) → dq, dk, dv and, with `mask_gradient`, dmask: the gradients
// of attention, with its attributes. The formulas stand at attention_gradients; a mask that is broadcast receives sums.
// It has no VJP: second derivatives of attention come from its decomposition.

constexpr std::array<AttrSpec, 12> attrs_with_mask_gradient() {
  std::array<AttrSpec, 12> attrs = kAttentionAttrs;
  size_t end = 0;
  while (!attrs[end].key.empty()) ++end;
  attrs[end] = {"mask_gradient", AttrKind::boolean, false};
  return attrs;
}

std::vector<Type> infer(const InferArgs& args) {
  const Attention attention = infer_attention(args, kAttentionBackwardMask);
  const Type &q = args.in(0), &k = args.in(1), &v = args.in(2);
  const Shape rows{attention.batch, attention.heads, attention.queries};
  const Type o{q.dtype, {attention.batch, attention.heads, attention.queries, attention.value_depth}};
  if (args.in(3) != o || args.in(5) != o)
    user_error("o {} and do {} must be {}", to_string(args.in(3)), to_string(args.in(5)), to_string(o));
  if (args.in(4) != Type{statistics_dtype(q.dtype), rows})
    user_error("lse {} must be {}", to_string(args.in(4)), to_string(Type{statistics_dtype(q.dtype), rows}));
  if (!args.attrs.flag("mask_gradient")) return {q, k, v};
  if (!args.has(kAttentionBackwardMask) || !is_float(args.in(kAttentionBackwardMask).dtype))
    user_error("the gradient of a mask that is no float");
  return {q, k, v, args.in(kAttentionBackwardMask)};
}

// Five contractions over the pairs within the limits: scores again, dv, dP, dq, dk.
int64_t flops(const Graph& graph, const Node& node) {
  const Attention attention = bound_attention(graph, node);
  const int64_t depths = checked_add(checked_mul(3, attention.depth), checked_mul(2, attention.value_depth));
  return checked_mul(2, checked_mul(attention.pairs(), depths));
}

double dot(const double* a, const double* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void eval(const EvalArgs& args) {
  const RefTensor &q = args.in(0), &k = args.in(1), &v = args.in(2), &o = args.in(3), &lse = args.in(4),
                  &d_o = args.in(5);
  const Attention a = bind_attention(args.node.attrs, q.type.shape, k.type.shape, v.type.shape);
  ScoreRows rows(a, args, kAttentionBackwardMask);
  for (int64_t row = 0; row < a.batch * a.heads * a.queries; ++row) {
    const double row_lse = lse.real[static_cast<size_t>(row)];
    if (row_lse == -std::numeric_limits<double>::infinity()) continue;
    const int64_t batch = row / (a.heads * a.queries), head = row / a.queries % a.heads;
    rows.compute(batch, head, row % a.queries);
    const double* d_o_row = d_o.real.data() + row * a.value_depth;
    const double* q_row = q.real.data() + row * a.depth;
    double* dq_row = args.outputs[0].real.data() + row * a.depth;
    const double delta = dot(d_o_row, o.real.data() + row * a.value_depth, a.value_depth);
    double sum = 0;  // 1, but for what lse lost where it was rounded
    for (const double score : rows.scores) sum += std::exp(score - row_lse);
    const int64_t first_key = (batch * a.key_heads + head / a.group()) * a.keys;
    for (int64_t key = 0; key < a.keys; ++key) {
      const auto j = static_cast<size_t>(key);
      if (rows.scores[j] == -std::numeric_limits<double>::infinity()) continue;
      const double* k_row = k.real.data() + (first_key + key) * a.depth;
      const double* v_row = v.real.data() + (first_key + key) * a.value_depth;
      double* dk_row = args.outputs[1].real.data() + (first_key + key) * a.depth;
      double* dv_row = args.outputs[2].real.data() + (first_key + key) * a.value_depth;
      const double p = std::exp(rows.scores[j] - row_lse) / sum;
      const double of_score = p * (dot(d_o_row, v_row, a.value_depth) * rows.kept[j] - delta);
      const double ds = of_score * rows.slope[j] * a.scale;
      if (args.outputs.size() > 3)
        args.outputs[3].real[static_cast<size_t>(rows.mask_index(batch, head, row % a.queries, key))] += of_score;
      for (int64_t d = 0; d < a.value_depth; ++d) dv_row[d] += p * rows.kept[j] * d_o_row[d];
      for (int64_t d = 0; d < a.depth; ++d) dq_row[d] += ds * k_row[d];
      for (int64_t d = 0; d < a.depth; ++d) dk_row[d] += ds * q_row[d];
    }
  }
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const AttentionOperands operands = attention_operands(node, kAttentionBackwardMask);
  const AttentionGradients gradients =
      attention_gradients(b, bound_attention(graph, node), operands, node.inputs[3], node.inputs[5], kNoValue);
  if (!node.attrs.flag("mask_gradient")) return {gradients.q, gradients.k, gradients.v};
  const Type& mask = graph.type(operands.mask);
  return {gradients.q, gradients.k, gradients.v, b.cast(b.sum_to(gradients.scores, mask.shape), mask.dtype)};
}

}  // namespace

constinit const OpDef op_attention_backward = {
    .name = "attention_backward",
    .kind = OpKind::composite,
    .min_inputs = 6,
    .max_inputs = 8,
    .outputs = -1,
    .attrs = attrs_with_mask_gradient(),
    .infer = infer,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
