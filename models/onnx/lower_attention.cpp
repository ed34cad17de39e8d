#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>
#include <cmath>
#include <limits>

// Attention 23, 24 (adds nonpad_kv_seqlen) and 25 (adds windows). Scores go through scale, softcap, mask and the limits
// on key positions, in this order. One composite does it, except where the scores themselves are asked for.
namespace stepc::onnx_import {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

struct Heads {
  ValueId q, k, v;  // (B, H, S, D), (B, Hk, T, D), (B, Hk, T, Dv); k and v with the past in front
};

// Key j is allowed for query i when it is not too far from the diagonal j = i + offset. The offset is the length of the
// past, or with nonpad_kv_seqlen that length of batch b minus S: then it is data.
struct Limits {
  bool causal = false;
  int64_t left = -1, right = -1;  // -1: no limit
  int64_t offset = 0;
  bool any() const { return causal || left >= 0 || right >= 0; }
};

// (B, S, H·D) → (B, H, S, D)
ValueId split_heads(Builder& b, ValueId x, int64_t heads, std::string_view key) {
  const Shape shape = b.shape(x);
  if (heads <= 0 || shape[2] % heads != 0)
    user_error("{} = {} does not divide the last dim of {}", key, heads, to_string(shape));
  return b.transpose(b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

ValueId heads_of(const Lowering& l, const OnnxNode& n, size_t operand, std::string_view key) {
  const Shape& shape = l.shape(operand);
  if (shape.rank() == 3) return split_heads(l.b, l.in(operand), n.integer(key, 0), key);
  if (shape.rank() != 4) user_error("operand {} is {}; 3 or 4 dimensions are expected", operand, to_string(shape));
  if (n.has(key) && n.integer(key, 0) != shape[1])
    user_error("{} = {} but the operand is {}", key, n.integer(key, 0), to_string(shape));
  return l.in(operand);
}

Heads bind_heads(const Lowering& l, const OnnxNode& n) {
  if (l.shape(0).rank() != l.shape(1).rank() || l.shape(0).rank() != l.shape(2).rank())
    user_error("Q {}, K {} and V {} must have the same rank", to_string(l.shape(0)), to_string(l.shape(1)),
               to_string(l.shape(2)));
  if (l.has(4) != l.has(5)) user_error("past_key and past_value are given together or not at all");
  if (l.has(4) && l.has(6)) user_error("nonpad_kv_seqlen and past_key cannot both be given");
  const auto with_past = [&](size_t past, ValueId x) { return l.has(past) ? l.b.concat({l.in(past), x}, 2) : x; };
  return {heads_of(l, n, 0, "q_num_heads"), with_past(4, heads_of(l, n, 1, "kv_num_heads")),
          with_past(5, heads_of(l, n, 2, "kv_num_heads"))};
}

Limits limits_of(const Lowering& l, const OnnxNode& n) {
  return {n.flag("is_causal", false), n.integer("left_window_size", -1), n.integer("right_window_size", -1),
          l.has(4) ? l.shape(4)[2] : 0};
}

// Both masks at once: a bool mask where there is none or a bool, else the additive one with -∞ where not allowed.
ValueId restrict(Builder& b, ValueId mask, ValueId allowed) {
  if (!mask.valid()) return allowed;
  if (b.dtype(mask) == Dtype::boolean) return b.binary(Op::logical_and, mask, allowed);
  return b.select(allowed, mask, b.scalar_like(kMasked, mask));
}

// attn_mask over all keys: keys that it does not reach are masked.
ValueId whole_mask(const Lowering& l, int64_t keys) {
  Builder& b = l.b;
  if (!l.has(3)) return kNoValue;
  const ValueId mask = l.in(3);
  const Shape& shape = b.shape(mask);
  if (shape.rank() == 0 || shape[shape.rank() - 1] == keys) return mask;
  if (shape[shape.rank() - 1] > keys) user_error("attn_mask {} for {} keys", to_string(shape), keys);
  const Dims none(shape.rank(), 0);
  Dims high = none;
  high.back() = keys - shape[shape.rank() - 1];
  return b.pad(mask, none, high, none, b.dtype(mask) == Dtype::boolean ? 0 : kMasked);
}

// The limits as a bool mask: (S, T), or (B, 1, S, T) where the offset, i64 (B, 1, 1, 1), differs by batch.
ValueId within_limits(Builder& b, const Limits& limits, ValueId offset, int64_t queries, int64_t keys) {
  const ValueId key = b.iota(Dtype::i64, {1, keys}, 1);
  const ValueId diagonal = b.add(b.iota(Dtype::i64, {queries, 1}, 0), offset);
  ValueId allowed = kNoValue;
  if (limits.causal || limits.right >= 0)
    allowed =
        b.binary(Op::less_equal, key, limits.causal ? diagonal : b.add(diagonal, static_cast<double>(limits.right)));
  if (limits.left >= 0)
    allowed = restrict(b, allowed, b.binary(Op::less_equal, b.add(diagonal, -static_cast<double>(limits.left)), key));
  return allowed;
}

// The mask with what depends on nonpad_kv_seqlen: key j counts when j < its batch's length.
ValueId restrict_to_lengths(const Lowering& l, ValueId mask, const Limits& limits, int64_t queries, int64_t keys) {
  Builder& b = l.b;
  const ValueId lengths = b.reshape(b.cast(l.in(6), Dtype::i64), {b.shape(l.in(6)).numel(), 1, 1, 1});
  mask = restrict(b, mask, b.binary(Op::less, b.iota(Dtype::i64, {1, keys}, 1), lengths));
  if (!limits.any()) return mask;
  return restrict(b, mask, within_limits(b, limits, b.add(lengths, -static_cast<double>(queries)), queries, keys));
}

// (B, H, S, D) · (B, Hk, T, D) over D, or with `spec` of the values: query head h uses key head h / (H / Hk).
ValueId grouped(Builder& b, ValueId left, ValueId right, std::string_view spec) {
  const Shape shape = b.shape(left);
  const int64_t key_heads = b.shape(right)[1];
  if (key_heads == 0 || shape[1] % key_heads != 0)
    user_error("{} key heads do not divide {} query heads", key_heads, shape[1]);
  const ValueId apart = b.reshape(left, {shape[0], key_heads, shape[1] / key_heads, shape[2], shape[3]});
  const ValueId product = b.contraction(apart, right, spec);
  return b.reshape(product, {shape[0], shape[1], shape[2], b.shape(product)[4]});
}

// The computation written out. Output 3 is, by qk_matmul_output_mode: 0 the scaled scores, 1 after softcap, 2 after
// mask and limits, 3 the probabilities.
ValueId attend_openly(Lowering& l, const OnnxNode& n, const Heads& heads, ValueId mask, double scale, Dtype precision) {
  Builder& b = l.b;
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) refuse_attribute("qk_matmul_output_mode", std::to_string(mode), "0, 1, 2, 3");
  const double softcap = n.real("softcap", 0);
  ValueId scores = b.mul(grouped(b, heads.q, heads.k, "bkgsd,bktd->bkgst"), scale);
  if (mode == 0) l.set(3, scores);
  if (softcap > 0) scores = b.mul(b.unary(Op::tanh, b.div(scores, b.scalar_like(softcap, scores))), softcap);
  if (mode == 1) l.set(3, scores);
  if (mask.valid())
    scores =
        b.dtype(mask) == Dtype::boolean ? b.select(mask, scores, b.scalar_like(kMasked, scores)) : b.add(scores, mask);
  if (mode == 2) l.set(3, scores);
  const ValueId p = b.make(Op::softmax, {b.cast(scores, precision)}, {{"axis", int64_t{3}}, {"zero_dead_rows", true}});
  const ValueId weights = b.cast(p, b.dtype(scores));
  if (mode == 3) l.set(3, weights);
  return grouped(b, weights, heads.v, "bkgst,bktd->bkgsd");
}

ValueId attend(Lowering& l, const OnnxNode& n, const Heads& heads, ValueId mask, double scale, const Limits& limits) {
  std::vector<ValueId> operands{heads.q, heads.k, heads.v};
  if (mask.valid()) operands.push_back(mask);
  return l.b.make(Op::attention, std::move(operands),
                  {{"scale", scale},
                   {"causal", limits.causal},
                   {"causal_offset", limits.offset},
                   {"window_left", limits.left},
                   {"window_right", limits.right},
                   {"softcap", n.real("softcap", 0)}});
}

void attention(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Heads heads = bind_heads(l, n);
  const int64_t queries = b.shape(heads.q)[2];
  const int64_t keys = b.shape(heads.k)[2];
  const double scale = n.real("scale", 1 / std::sqrt(static_cast<double>(b.shape(heads.q)[3])));
  const Dtype dtype = b.dtype(heads.q);
  const Dtype precision =
      n.has("softmax_precision") ? l.dtype(static_cast<int32_t>(n.integer("softmax_precision", 1))) : dtype;

  Limits limits = limits_of(l, n);
  ValueId mask = whole_mask(l, keys);
  if (l.has(6)) {
    mask = restrict_to_lengths(l, mask, limits, queries, keys);
    limits = {};
  }
  ValueId y;
  if (l.wants(3) || (precision == Dtype::f64 && dtype != Dtype::f64)) {  // the composite's softmax is float32 or wider
    if (limits.any())
      mask = restrict(
          b, mask, within_limits(b, limits, b.scalar(static_cast<double>(limits.offset), Dtype::i64), queries, keys));
    y = attend_openly(l, n, heads, mask, scale, precision);
  } else {
    y = attend(l, n, heads, mask, scale, limits);
  }
  if (l.shape(0).rank() == 3) {
    const Shape shape = b.shape(y);
    y = b.reshape(b.transpose(y, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
  }
  l.set(0, y);
  l.set(1, heads.k);
  l.set(2, heads.v);
}

constexpr auto kRules = std::to_array<NamedRule>({{"Attention", attention}});

}  // namespace

RuleList attention_rules() { return kRules; }

}  // namespace stepc::onnx_import
