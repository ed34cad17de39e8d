#include "ir/ops/attention_scores.h"

#include "ir/ops/rows.h"
#include "ir/philox.h"
#include "ir/support/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepc {

namespace {

constexpr double kExcluded = -std::numeric_limits<double>::infinity();

// [B, H, x, y] as [B, Hk, group, x, y] and back.
ValueId split_heads(Builder& b, const Attention& attention, ValueId v) {
  const Shape& shape = b.shape(v);
  return b.reshape(v, {shape[0], attention.key_heads, attention.group(), shape[2], shape[3]});
}
ValueId join_heads(Builder& b, const Attention& attention, ValueId v) {
  const Shape& shape = b.shape(v);
  return b.reshape(v, {shape[0], attention.heads, shape[3], shape[4]});
}

// [S, T]: whether the distance of key and query is within the limits; kNoValue where there is none.
ValueId limits(Builder& b, const Attention& attention) {
  if (!attention.least_distance && !attention.greatest_distance) return kNoValue;
  const ValueId query = b.iota(Dtype::i64, {attention.queries, 1}, 0);
  const ValueId key = b.iota(Dtype::i64, {1, attention.keys}, 1);
  const ValueId distance = b.sub(key, query);
  const auto at = [&](int64_t limit) { return b.constant(Tensor::of_i64({&limit, 1}, Shape())); };
  ValueId allowed = kNoValue;
  if (attention.greatest_distance) allowed = b.binary(Op::less_equal, distance, at(*attention.greatest_distance));
  if (attention.least_distance) {
    const ValueId near = b.binary(Op::less_equal, at(*attention.least_distance), distance);
    allowed = allowed.valid() ? b.binary(Op::logical_and, allowed, near) : near;
  }
  return allowed;
}

}  // namespace

Attention infer_attention(const InferArgs& args, size_t mask) {
  const Type &q = args.in(0), &k = args.in(1), &v = args.in(2);
  if (!is_float(q.dtype) || k.dtype != q.dtype || v.dtype != q.dtype)
    user_error("q {}, k {}, v {} have no common float type", to_string(q), to_string(k), to_string(v));
  Attention attention = bind_attention(args.attrs, q.shape, k.shape, v.shape);
  if (args.has(mask)) {
    const Type& type = args.in(mask);
    if (is_integer(type.dtype)) user_error("a mask of {}; it must be bool or a float", dtype_name(type.dtype));
    if (!broadcasts_to(type.shape, attention.scores_shape()))
      user_error("mask {} does not broadcast to scores {}", to_string(type.shape), to_string(attention.scores_shape()));
  }
  const bool drops = attention.dropout > 0;
  if (drops && !args.has(mask + 1)) user_error("dropout {} without an offset", attention.dropout);
  if (!drops && args.has(mask + 1)) user_error("an offset, but no dropout");
  if (drops && args.in(mask + 1) != Type{Dtype::i64, Shape()})
    user_error("the offset is {}, not i64[]", to_string(args.in(mask + 1)));
  return attention;
}

AttentionOperands attention_operands(const Node& node, size_t mask) {
  const auto operand = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; };
  return {node.inputs[0], node.inputs[1], node.inputs[2], operand(mask), operand(mask + 1)};
}

Attention bound_attention(const Graph& graph, const Node& node) {
  return bind_attention(node.attrs, graph.shape(node.inputs[0]), graph.shape(node.inputs[1]),
                        graph.shape(node.inputs[2]));
}

ValueId grouped_contraction(Builder& b, const Attention& attention, ValueId a, ValueId c, std::string spec) {
  const bool grouped = attention.group() != 1;
  const auto starred = [&](size_t from, size_t to) {
    const size_t star = spec.find('*', from);
    return grouped && star != std::string::npos && star < to;
  };
  const size_t comma = spec.find(','), arrow = spec.find("->");
  if (starred(0, comma)) a = split_heads(b, attention, a);
  if (starred(comma, arrow)) c = split_heads(b, attention, c);
  const bool join = starred(arrow, spec.size());
  if (grouped)
    std::replace(spec.begin(), spec.end(), '*', 'g');
  else
    std::erase(spec, '*');
  const ValueId result = b.contraction(a, c, spec);
  return join ? join_heads(b, attention, result) : result;
}

ScoreNodes score_nodes(Builder& b, const Attention& attention, const AttentionOperands& operands) {
  ScoreNodes nodes;
  ValueId s = to_statistics(b, grouped_contraction(b, attention, operands.q, operands.k, "bh*sd,bhtd->bh*st"));
  s = b.mul(s, attention.scale);
  if (attention.softcap != 0) {
    nodes.capped = b.unary(Op::tanh, b.div(s, b.scalar_like(attention.softcap, s)));
    s = b.mul(nodes.capped, attention.softcap);
  }
  const ValueId excluded = b.scalar_like(kExcluded, s);
  if (operands.mask.valid()) {
    s = b.dtype(operands.mask) == Dtype::boolean ? b.select(operands.mask, s, excluded)
                                                 : b.add(s, b.cast(operands.mask, b.dtype(s)));
  }
  if (const ValueId allowed = limits(b, attention); allowed.valid()) s = b.select(allowed, s, excluded);
  nodes.scores = s;
  return nodes;
}

ValueId kept_weights(Builder& b, const Attention& attention, const AttentionOperands& operands) {
  if (attention.dropout == 0) return kNoValue;
  const ValueId uniform = b.make(Op::random, {operands.offset},
                                 {{"shape", attention.scores_shape().dims()}, {"key", attention.dropout_key}});
  return b.binary(Op::less_equal, b.scalar(attention.dropout, Dtype::f32), uniform);
}

ValueId dropped(Builder& b, const Attention& attention, ValueId kept, ValueId weights) {
  if (!kept.valid()) return weights;
  return b.select(kept, b.mul(weights, attention.kept_scale()), b.scalar_like(0, weights));
}

// With P = softmax(s), 0 on dead rows, Z the factors of dropout and o = (P∘Z)·v:
//   dv = (P∘Z)ᵀ·do,  dP = Z∘(do·vᵀ),  ds = P∘(dP − Σ_d do·o + dlse), for Σ_j P·dP = Σ_d do·o (Dao et al. 2022, appendix
//   B.2);  a softcap multiplies by 1 − tanh²;  dq = scale·ds·k,  dk = scale·dsᵀ·q.
AttentionGradients attention_gradients(Builder& b, const Attention& attention, const AttentionOperands& operands,
                                       ValueId o, ValueId d_o, ValueId dlse) {
  const Dtype dtype = b.dtype(operands.q);
  const auto [scores, capped] = score_nodes(b, attention, operands);
  const ValueId p = b.make(Op::softmax, {scores}, {{"axis", int64_t{3}}, {"zero_dead_rows", true}});

  AttentionGradients gradients;
  const ValueId kept = kept_weights(b, attention, operands);
  gradients.v =
      grouped_contraction(b, attention, b.cast(dropped(b, attention, kept, p), dtype), d_o, "bh*st,bh*sd->bhtd");
  const ValueId of_kept = to_statistics(b, grouped_contraction(b, attention, d_o, operands.v, "bh*sd,bhtd->bh*st"));
  const ValueId dp = dropped(b, attention, kept, of_kept);
  ValueId delta = row_sum(b, b.mul(to_statistics(b, d_o), to_statistics(b, o)), 3);
  if (dlse.valid()) delta = b.sub(delta, b.unsqueeze(dlse, 3));
  gradients.scores = b.mul(p, b.sub(dp, delta));

  ValueId ds = gradients.scores;
  if (capped.valid()) ds = b.mul(ds, b.sub(b.scalar_like(1, capped), b.mul(capped, capped)));
  ds = b.cast(b.mul(ds, attention.scale), dtype);
  gradients.q = grouped_contraction(b, attention, ds, operands.k, "bh*st,bhtd->bh*sd");
  gradients.k = grouped_contraction(b, attention, ds, operands.q, "bh*st,bh*sd->bhtd");
  return gradients;
}

ScoreRows::ScoreRows(const Attention& attention, const EvalArgs& args, size_t mask)
    : scores(static_cast<size_t>(attention.keys)),
      slope(static_cast<size_t>(attention.keys)),
      kept(static_cast<size_t>(attention.keys), 1),
      attention_(attention),
      q_(args.in(0)),
      k_(args.in(1)),
      statistics_(args.round_floats ? statistics_dtype(q_.type.dtype) : Dtype::f64),
      mask_(args.has(mask) ? &args.in(mask) : nullptr),
      offset_(args.has(mask + 1) ? args.in(mask + 1).integer[0] : 0) {
  if (mask_ != nullptr) mask_strides_ = broadcast_strides(mask_->type.shape, attention.scores_shape());
}

int64_t ScoreRows::mask_index(int64_t batch, int64_t head, int64_t query, int64_t key) const {
  if (mask_ == nullptr) return 0;
  return batch * mask_strides_[0] + head * mask_strides_[1] + query * mask_strides_[2] + key * mask_strides_[3];
}

void ScoreRows::compute(int64_t batch, int64_t head, int64_t query) {
  const Attention& a = attention_;
  std::fill(scores.begin(), scores.end(), kExcluded);
  const double* q = q_.real.data() + ((batch * a.heads + head) * a.queries + query) * a.depth;
  const double* keys = k_.real.data() + (batch * a.key_heads + head / a.group()) * a.keys * a.depth;
  if (a.dropout > 0)
    for (int64_t key = 0; key < a.keys; ++key) {
      const int64_t element = ((batch * a.heads + head) * a.queries + query) * a.keys + key;
      const float uniform = philox_uniform(philox_word(a.dropout_key, offset_, element));
      kept[static_cast<size_t>(key)] = static_cast<float>(a.dropout) <= uniform ? a.kept_scale() : 0;
    }
  const Attention::KeyRange range = a.keys_of(query);
  for (int64_t key = range.begin; key < range.end; ++key) {
    const auto j = static_cast<size_t>(key);
    const int64_t at_mask = mask_index(batch, head, query, key);
    if (mask_ != nullptr && !mask_->is_real() && mask_->integer[static_cast<size_t>(at_mask)] == 0) continue;
    double score = 0;
    for (int64_t d = 0; d < a.depth; ++d) score += q[d] * keys[key * a.depth + d];
    score = round_to(statistics_, score * a.scale);
    slope[j] = 1;
    if (a.softcap != 0) {
      const double capped = std::tanh(score / a.softcap);
      slope[j] = 1 - capped * capped;
      score = a.softcap * capped;
    }
    if (mask_ != nullptr && mask_->is_real()) score += mask_->real[static_cast<size_t>(at_mask)];
    scores[j] = round_to(statistics_, score);
  }
}

}  // namespace stepc
