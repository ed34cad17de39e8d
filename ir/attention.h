#pragma once

#include "ir/attrs.h"
#include "ir/shape.h"

#include <cstdint>
#include <optional>

namespace stepc {

// What attention and attention_backward compute, from their attributes and the shapes of
// q [B, H, S, D], k [B, Hk, T, D] and v [B, Hk, T, Dv]. Query head h attends to key head h / group().
//
// Scores go through, in this order: `scale`; `softcap` c, s ← c·tanh(s/c), where not 0; the mask operand; then the
// limits on the distance of key j from query i. Those are relative to the diagonal j = i + `causal_offset`: `causal`
// excludes what lies after it, `window_left` and `window_right` what is further than that before or after it (-1: no
// limit).
//
// With `dropout` r > 0, weights after softmax are dropped: that of (b, h, i, j) counts kept_scale()-fold where r <= u,
// else not at all. u is this element of the random tensor [B, H, S, T] with the key `dropout_key` and the offset
// operand (ir/philox.h), so that the backward finds the same weights again.
struct Attention {
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, depth = 0, value_depth = 0;
  double scale = 1;
  double softcap = 0;
  std::optional<int64_t> least_distance, greatest_distance;  // of j − i
  double dropout = 0;
  int64_t dropout_key = 0;

  struct KeyRange {
    int64_t begin = 0, end = 0;  // begin <= end
  };

  int64_t group() const { return heads / key_heads; }  // query heads per key head
  Shape scores_shape() const { return {batch, heads, queries, keys}; }
  double kept_scale() const { return dropout < 1 ? 1 / (1 - dropout) : 0; }
  KeyRange keys_of(int64_t query) const;  // within the limits, whatever the mask operand says
  int64_t pairs() const;                  // of a query and a key within the limits, over all batches and heads
};

// Throws UserError where shapes or attributes do not fit.
Attention bind_attention(const Attrs& attrs, const Shape& q, const Shape& k, const Shape& v);

}  // namespace stepc
