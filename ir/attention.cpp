#include "ir/attention.h"

#include "ir/finite_attr.h"
#include "ir/support/checked.h"

#include <algorithm>

namespace stepc {

namespace {

void check_shapes(const Shape& q, const Shape& k, const Shape& v) {
  const auto refuse = [&](std::string_view what) {
    user_error("{}: q {}, k {}, v {}", what, to_string(q), to_string(k), to_string(v));
  };
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) refuse("operands must have rank 4");
  if (k[0] != q[0] || v[0] != q[0]) refuse("batch sizes differ");
  if (q[1] == 0 || k[1] == 0) refuse("there are no heads");
  if (k[1] != v[1] || q[1] % k[1] != 0) refuse("key and value heads must be equal and divide query heads");
  if (k[2] != v[2]) refuse("numbers of keys and values differ");
  if (k[3] != q[3]) refuse("depths of queries and keys differ");
}

// The keys j with j − i < `distance`, summed over the queries i: none for the first ones, then one more for each query,
// then all.
int64_t keys_before(int64_t distance, int64_t queries, int64_t keys) {
  distance = std::clamp(distance, -queries, keys);  // beyond that nothing changes
  const int64_t none = std::clamp<int64_t>(-distance, 0, queries), all = std::clamp(keys - distance, none, queries);
  const int64_t rising = all - none, ends = none + distance + all - 1 + distance;  // the first and the last summand
  const int64_t sum = rising % 2 == 0 ? checked_mul(rising / 2, ends) : checked_mul(rising, ends / 2);
  return checked_add(sum, checked_mul(queries - all, keys));
}

}  // namespace

Attention bind_attention(const Attrs& attrs, const Shape& q, const Shape& k, const Shape& v) {
  check_shapes(q, k, v);
  Attention attention{.batch = q[0],
                      .heads = q[1],
                      .key_heads = k[1],
                      .queries = q[2],
                      .keys = k[2],
                      .depth = q[3],
                      .value_depth = v[3],
                      .scale = finite_attr(attrs, "scale"),
                      .softcap = finite_attr(attrs, "softcap"),
                      .least_distance = {},
                      .greatest_distance = {},
                      .dropout = attrs.real("dropout"),
                      .dropout_key = attrs.integer("dropout_key")};
  if (!(attention.softcap >= 0)) user_error("softcap {} is negative", attention.softcap);
  if (!(attention.dropout >= 0 && attention.dropout <= 1)) user_error("dropout {} is not in [0, 1]", attention.dropout);
  const int64_t offset = attrs.integer("causal_offset");
  const int64_t left = attrs.integer("window_left"), right = attrs.integer("window_right");
  if (left < -1 || right < -1) user_error("window [{}, {}]: sizes are -1 (no limit) or more", left, right);
  if (left >= 0) attention.least_distance = checked_add(offset, -left);
  if (right >= 0) attention.greatest_distance = checked_add(offset, right);
  if (attrs.flag("causal"))
    attention.greatest_distance = std::min(offset, attention.greatest_distance.value_or(offset));
  return attention;
}

Attention::KeyRange Attention::keys_of(int64_t query) const {
  KeyRange range{0, keys};
  if (least_distance) range.begin = std::clamp<int64_t>(checked_add(query, *least_distance), 0, keys);
  if (greatest_distance)
    range.end = std::clamp<int64_t>(checked_add(query, checked_add(*greatest_distance, 1)), 0, keys);
  range.end = std::max(range.begin, range.end);
  return range;
}

// Both ends of a query's range rise with the query, so the lengths of the ranges sum to a difference.
int64_t Attention::pairs() const {
  const int64_t end = std::min(greatest_distance.value_or(keys), keys) + 1;
  const int64_t begin = least_distance.value_or(-queries);
  if (end <= begin) return 0;
  const int64_t count = keys_before(end, queries, keys) - keys_before(begin, queries, keys);
  return checked_mul(checked_mul(batch, heads), count);
}

}  // namespace stepc
