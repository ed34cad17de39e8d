#pragma once

#include "codegen/cpu/device/kernel.h"
#include "codegen/cpu/device/tile.h"

// Attention by tiles of queries and keys; the scores of a tile live in cache and nowhere else.
namespace stepc_device {

// What a task may have on its stack: the tiles that ir/kernel/attention.cpp allows, and a little beside them.
constexpr int64_t kAttentionStack = (int64_t{1} << 19) + 4096;

// A tensor of four axes [batch, head, row, column], strides in elements.
template <typename E>
struct AttentionTensor {
  E* data;
  int64_t strides[4];

  E* at(int64_t batch, int64_t head, int64_t row) const {
    return data + batch * strides[0] + head * strides[1] + row * strides[2];
  }
  MatrixView<E> matrix(int64_t batch, int64_t head, int64_t row) const {
    return {at(batch, head, row), strides[2], strides[3]};
  }
};

// Mask: float, Bf16 or F16, added to the scores; uint8_t, where 0 excludes the key.
template <typename Mask>
struct AttentionProblem {
  int64_t batch, heads, key_heads, queries, keys;
  int64_t least_distance, greatest_distance;  // of a key from a query that attends to it
  float scale, softcap;                       // softcap 0: none
  const Mask* mask;                           // null: none
  int64_t mask_strides[4];                    // over [batch, head, query, key]
  float dropout, kept_scale;                  // dropout 0: none
  int64_t dropout_key, dropout_offset;
};

template <typename Mask>
constexpr bool kExcludes = false;
template <>
constexpr bool kExcludes<uint8_t> = true;

struct Range {
  int64_t begin, end;
};
inline int64_t clamped(int64_t x, int64_t low, int64_t high) { return x < low ? low : (x > high ? high : x); }

// The keys that any of the queries [first, last] attends to, beginning with a whole tile.
template <int64_t kKeys, typename Mask>
inline Range keys_of(const AttentionProblem<Mask>& p, int64_t first, int64_t last) {
  const int64_t begin = clamped(first + p.least_distance, 0, p.keys);
  const int64_t end = clamped(last + p.greatest_distance + 1, begin, p.keys);
  return {begin == end ? end : begin / kKeys * kKeys, end};
}
// The queries that attend to any of the keys [first, last].
template <int64_t kQueries, typename Mask>
inline Range queries_of(const AttentionProblem<Mask>& p, int64_t first, int64_t last) {
  const int64_t begin = clamped(first - p.greatest_distance, 0, p.queries);
  const int64_t end = clamped(last - p.least_distance + 1, begin, p.queries);
  return {begin == end ? end : begin / kQueries * kQueries, end};
}

// Tile `task` of `count` in the order first, last, second, ...: neighbours have together the same work under a causal
// mask, so that threads that get equal ranges of tasks finish together.
inline int64_t paired(int64_t task, int64_t count) { return task % 2 == 0 ? task / 2 : count - 1 - task / 2; }

// Where a tile of scores lies: `rows` queries from `query` on, `columns` keys from `key` on.
struct ScorePlace {
  int64_t batch, head, query, key, rows, columns;
};

// A tile of scores seen as a matrix, of which `rows` rows and `columns` columns exist. In row r the columns
// [first + r, last + r) are within the limits.
struct ScoreFrame {
  int64_t rows, columns, first, last;
  int64_t mask_offset, mask_row, mask_column;  // strides of the mask
};
template <typename Mask>
inline ScoreFrame queries_by_keys(const AttentionProblem<Mask>& p, const ScorePlace& at) {
  const int64_t* const m = p.mask_strides;
  const int64_t diagonal = at.query - at.key;
  return {at.rows,
          at.columns,
          diagonal + p.least_distance,
          diagonal + p.greatest_distance + 1,
          at.batch * m[0] + at.head * m[1] + at.query * m[2] + at.key * m[3],
          m[2],
          m[3]};
}
template <typename Mask>
inline ScoreFrame keys_by_queries(const AttentionProblem<Mask>& p, const ScorePlace& at) {
  const ScoreFrame t = queries_by_keys(p, at);
  return {t.columns, t.rows, 1 - t.last, 1 - t.first, t.mask_offset, t.mask_column, t.mask_row};
}

// What dropout makes of the weights of kKeys keys for one query: factors 0 and kept_scale. `first` is the index of the
// first one in the random tensor. Blocks of four words each, many at a time (Philox4x32-10, as in ir/philox.h).
template <int64_t kKeys, typename Mask>
inline void dropout_factors(const AttentionProblem<Mask>& p, int64_t first, float* factors) {
  constexpr int64_t kBlocks = kKeys / 4 + 8;  // one more than that, in whole vectors
  uint32_t c[4][kBlocks];
  const uint64_t block = static_cast<uint64_t>(first) / 4, offset = static_cast<uint64_t>(p.dropout_offset);
  for (int64_t b = 0; b < kBlocks; ++b) {
    c[0][b] = static_cast<uint32_t>(block + static_cast<uint64_t>(b));
    c[1][b] = static_cast<uint32_t>((block + static_cast<uint64_t>(b)) >> 32);
    c[2][b] = static_cast<uint32_t>(offset);
    c[3][b] = static_cast<uint32_t>(offset >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(static_cast<uint64_t>(p.dropout_key));
  uint32_t k1 = static_cast<uint32_t>(static_cast<uint64_t>(p.dropout_key) >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int64_t b = 0; b < kBlocks; ++b) {
      const uint64_t p0 = uint64_t{0xD2511F53U} * c[0][b], p1 = uint64_t{0xCD9E8D57U} * c[2][b];
      c[0][b] = static_cast<uint32_t>(p1 >> 32) ^ c[1][b] ^ k0;
      c[2][b] = static_cast<uint32_t>(p0 >> 32) ^ c[3][b] ^ k1;
      c[1][b] = static_cast<uint32_t>(p1);
      c[3][b] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  float all[4 * kBlocks];
  for (int64_t b = 0; b < kBlocks; ++b)
    for (int64_t word = 0; word < 4; ++word) {
      const float uniform = static_cast<float>(c[word][b] >> 8) * 0x1p-24F;
      all[4 * b + word] = p.dropout <= uniform ? p.kept_scale : 0.0F;
    }
  for (int64_t j = 0; j < kKeys; ++j) factors[j] = all[first % 4 + j];
}

template <int64_t kCount>
inline void scale_row(float* x, const float* factors) {
  for (int64_t i = 0; i < kCount; ++i) x[i] = x[i] * factors[i];
}

// From q·k to scores: scaled, capped, with the mask; −∞ for what is excluded and for what does not exist.
template <int64_t kRows, int64_t kColumns>
class ScoreRules {
 public:
  typedef Tile<kRows, kColumns> Scores;

  // With kSlopes, `slopes` receives the derivative of the cap where there is one.
  template <bool kSlopes, typename Mask>
  void apply(const AttentionProblem<Mask>& p, const ScoreFrame& frame, Scores& s, Scores& slopes) {
    const float scale = p.scale;
    each(s, [=](float* x, int64_t) {
      for (int64_t c = 0; c < kColumns; ++c) x[c] = x[c] * scale;
    });
    if (p.softcap != 0) cap<kSlopes>(p.softcap, s, slopes);
    if (p.mask != nullptr) {
      load_mask(frame, p.mask);
      each(s, [&](float* x, int64_t r) {
        const float* const m = mask_.row(r);
        for (int64_t c = 0; c < kColumns; ++c) x[c] = kExcludes<Mask> ? (m[c] == 0.0F ? x[c] : kExcluded) : x[c] + m[c];
      });
    }
    apply_limits(frame, s);
  }

  // Finds the factors of dropout for a tile of weights: `factors` has them until the next call. With kByKeys the tile's
  // rows are keys.
  template <bool kByKeys, typename Mask>
  void find_factors(const AttentionProblem<Mask>& p, const ScorePlace& at) {
    constexpr int64_t kQueries = kByKeys ? kColumns : kRows, kKeys = kByKeys ? kRows : kColumns;
    for (int64_t i = 0; i < kQueries; ++i) {
      const int64_t query = (at.batch * p.heads + at.head) * p.queries + at.query + i;
      float* row = nullptr;
      if constexpr (kByKeys)
        row = mask_columns_.row(i);
      else
        row = mask_.row(i);
      dropout_factors<kKeys>(p, query * p.keys + at.key, row);
    }
    if constexpr (kByKeys) transpose(mask_columns_, mask_);
  }
  const float* factors(int64_t row) const { return mask_.row(row); }

 private:
  static constexpr float kExcluded = -__builtin_inff();

  template <typename Row>
  static void each(Scores& s, const Row& row) {
    for (int64_t r = 0; r < kRows; ++r) row(s.row(r), r);
  }

  template <bool kSlopes>
  static void cap(float softcap, Scores& s, Scores& slopes) {
    each(s, [&](float* x, int64_t r) {
      float* const slope = slopes.row(r);
      for (int64_t c = 0; c < kColumns; ++c) {
        const float t = tanh_f32(x[c] / softcap);
        x[c] = t * softcap;
        if (kSlopes) slope[c] = 1.0F - t * t;
      }
    });
  }

  static float term(uint8_t x) { return x == 0 ? kExcluded : 0.0F; }
  template <typename E>
  static float term(E x) {
    return widened(x);
  }

  // Along the memory's rows, whichever way the tile has them; 0 for what does not exist.
  template <typename T>
  void load_mask(const ScoreFrame& f, const T* mask) {
    const T* const x = mask + f.mask_offset;
    if (f.rows < kRows || f.columns < kColumns) {
      mask_.fill(0);
      mask_columns_.fill(0);
    }
    if (f.mask_row == 1 && f.mask_column > 1) {
      convert_rows(mask_columns_, x, f.mask_column, 1, f.columns, f.rows);
      return transpose(mask_columns_, mask_);
    }
    convert_rows(mask_, x, f.mask_row, f.mask_column, f.mask_row == 0 ? 1 : f.rows, f.columns);
    if (f.mask_row == 0)
      for (int64_t r = 1; r < f.rows; ++r) copy_row<kColumns>(mask_.row(r), mask_.row(0));
  }

  template <typename To, typename T>
  static void convert_rows(To& to, const T* from, int64_t row_stride, int64_t column_stride, int64_t rows,
                           int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* const x = from + r * row_stride;
      float* const y = to.row(r);
      if (column_stride == 1)
        for (int64_t c = 0; c < columns; ++c) y[c] = term(x[c]);
      else
        for (int64_t c = 0; c < columns; ++c) y[c] = term(x[c * column_stride]);
    }
  }

  // Only tiles at the border have something to exclude.
  static void apply_limits(const ScoreFrame& f, Scores& s) {
    if (f.rows == kRows && f.columns == kColumns && f.first + kRows - 1 <= 0 && f.last >= kColumns) return;
    each(s, [&](float* x, int64_t r) {
      const int64_t first = r < f.rows ? clamped(f.first + r, 0, kColumns) : kColumns;
      const int64_t last = clamped(f.last + r, first, f.columns < first ? first : f.columns);
      for (int64_t c = 0; c < first; ++c) x[c] = kExcluded;
      for (int64_t c = last; c < kColumns; ++c) x[c] = kExcluded;
    });
  }

  Scores mask_;
  Tile<kColumns, kRows> mask_columns_;
};

// One tile of queries against all its keys, the softmax online: a running maximum and sum per query, and a sum of
// values that is scaled down where the maximum grows (Milakov and Gimelshein 2018; Dao 2023). Scores are held as
// [keys][queries]: what is done per query is the same instruction in all lanes.
template <int64_t kQueries, int64_t kKeys, int64_t kDepth, int64_t kValueDepth, typename E, typename Mask>
class AttentionForward {
 public:
  AttentionForward(const AttentionProblem<Mask>& problem, const AttentionTensor<E>& q, const AttentionTensor<E>& k,
                   const AttentionTensor<E>& v, const AttentionTensor<E>& o, const AttentionTensor<float>& lse)
      : p_(problem), q_(q), k_(k), v_(v), o_(o), lse_(lse) {}

  void run(int64_t batch, int64_t head, int64_t query) {
    const int64_t rows = clamped(p_.queries - query, 0, kQueries);
    load_tile<kDepth>(q_tile_, q_.matrix(batch, head, query), rows);
    transpose(q_tile_, q_transposed_);
    sum_of_values_.fill(0);
    for (int64_t i = 0; i < kQueries; ++i) {
      maximum_[i] = -__builtin_inff();
      sum_[i] = 0;
    }
    const int64_t key_head = head / (p_.heads / p_.key_heads);
    const Range range = keys_of<kKeys>(p_, query, query + rows - 1);
    for (int64_t key = range.begin; key < range.end; key += kKeys) {
      const int64_t columns = clamped(p_.keys - key, 0, kKeys);
      load_tile<kDepth>(k_tile_, k_.matrix(batch, key_head, key), columns);
      multiply<false, kDepth>(k_tile_, q_transposed_, s_);
      const ScorePlace place{batch, head, query, key, rows, columns};
      rules_.template apply<false>(p_, keys_by_queries(p_, place), s_, s_);
      normalise();
      if (p_.dropout != 0) drop(place);
      load_tile<kValueDepth>(v_tile_, v_.matrix(batch, key_head, key), columns);
      multiply_transposed<true>(s_, v_tile_, sum_of_values_);
    }
    store(batch, head, query, rows);
  }

 private:
  // s ← exp(s − maximum), with what was summed before under the new maximum.
  void normalise() {
    float greatest[kQueries], shift[kQueries], factor[kQueries], sum[kQueries];
    for (int64_t i = 0; i < kQueries; ++i) greatest[i] = maximum_[i];
    combine_rows<MaxOf>(s_, greatest);
    bool moved = false;
    for (int64_t i = 0; i < kQueries; ++i) {
      shift[i] = greatest[i] == -__builtin_inff() ? 0.0F : greatest[i];  // nothing to attend to so far
      factor[i] = exp_bounded_f32(maximum_[i] - shift[i]);
      moved |= factor[i] != 1.0F;
      maximum_[i] = greatest[i];
      sum[i] = 0;
    }
    for (int64_t j = 0; j < kKeys; ++j) {
      float* const x = s_.row(j);
      for (int64_t i = 0; i < kQueries; ++i) x[i] = exp_bounded_f32(x[i] - shift[i]);
    }
    combine_rows<SumOf>(s_, sum);
    for (int64_t i = 0; i < kQueries; ++i) sum_[i] = sum_[i] * factor[i] + sum[i];
    if (!moved) return;
    for (int64_t i = 0; i < kQueries; ++i) {
      float* const x = sum_of_values_.row(i);
      for (int64_t d = 0; d < Values::kColumns; ++d) x[d] = x[d] * factor[i];
    }
  }

  void drop(const ScorePlace& place) {
    rules_.template find_factors<true>(p_, place);
    for (int64_t j = 0; j < kKeys; ++j) scale_row<kQueries>(s_.row(j), rules_.factors(j));
  }

  void store(int64_t batch, int64_t head, int64_t query, int64_t rows) {
    float* const lse = lse_.at(batch, head, query);
    for (int64_t i = 0; i < rows; ++i) {
      const bool dead = maximum_[i] == -__builtin_inff();
      lse[i * lse_.strides[2]] = dead ? maximum_[i] : maximum_[i] + log_f32(sum_[i]);
      float* const x = sum_of_values_.row(i);
      for (int64_t d = 0; d < kValueDepth; ++d) x[d] = dead ? 0.0F : x[d] / sum_[i];
    }
    store_tile<false, kValueDepth>(o_.matrix(batch, head, query), sum_of_values_, rows);
  }

  typedef Tile<kQueries, kValueDepth> Values;
  const AttentionProblem<Mask>& p_;
  const AttentionTensor<E>&q_, &k_, &v_, &o_;
  const AttentionTensor<float>& lse_;
  Tile<kQueries, kDepth> q_tile_;
  Tile<tile_columns(kDepth), kQueries> q_transposed_;
  Tile<kKeys, kDepth> k_tile_;
  Tile<kKeys, kValueDepth> v_tile_;
  ScoreRules<kKeys, kQueries> rules_;
  Tile<kKeys, kQueries> s_;
  Values sum_of_values_;
  float maximum_[kQueries], sum_[kQueries];
};

template <int64_t kQueries, int64_t kKeys, int64_t kDepth, int64_t kValueDepth, typename E, typename Mask>
inline void attention_forward(const StepcKernelArgs* args, const AttentionProblem<Mask>& p, const AttentionTensor<E>& q,
                              const AttentionTensor<E>& k, const AttentionTensor<E>& v, const AttentionTensor<E>& o,
                              const AttentionTensor<float>& lse) {
  typedef AttentionForward<kQueries, kKeys, kDepth, kValueDepth, E, Mask> Forward;
  static_assert(sizeof(Forward) <= kAttentionStack, "tiles too large");
  const int64_t tiles = (p.queries + kQueries - 1) / kQueries;
  parallel_for(args, p.batch * p.heads * tiles, 1, [&](int64_t begin, int64_t end) {
    Forward forward(p, q, k, v, o, lse);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / tiles;
      forward.run(row / p.heads, row % p.heads, paired(task % tiles, tiles) * kQueries);
    }
  });
}

}  // namespace stepc_device
