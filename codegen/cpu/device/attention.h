#pragma once

#include "codegen/cpu/device/kernel.h"
#include "codegen/cpu/device/tile.h"

// Attention by tiles of queries and keys; the scores of a tile live in cache and nowhere else.
namespace stepc_device {

// What a task may have on its stack: the tiles that ir/kernel/attention.cpp allows, and a little beside them.
constexpr int64_t kAttentionStack = (int64_t{1} << 19) + 4096;

// A tensor of four axes [batch, head, row, column], strides in elements.
struct AttentionTensor {
  float* data;
  int64_t strides[4];

  float* at(int64_t batch, int64_t head, int64_t row) const {
    return data + batch * strides[0] + head * strides[1] + row * strides[2];
  }
  MatrixView matrix(int64_t batch, int64_t head, int64_t row) const {
    return {at(batch, head, row), strides[2], strides[3]};
  }
};

struct AttentionProblem {
  int64_t batch, heads, key_heads, queries, keys;
  int64_t least_distance, greatest_distance;  // of a key from a query that attends to it
  float scale, softcap;                       // softcap 0: none
  const float* bias;                          // added to the scores, or
  const uint8_t* allowed;                     // 0: the key is excluded, or neither
  int64_t mask_strides[4];                    // of that one, over [batch, head, query, key]
};

struct Range {
  int64_t begin, end;
};
inline int64_t clamped(int64_t x, int64_t low, int64_t high) { return x < low ? low : (x > high ? high : x); }

// The keys that any of the queries [first, last] attends to, beginning with a whole tile.
template <int64_t kKeys>
inline Range keys_of(const AttentionProblem& p, int64_t first, int64_t last) {
  const int64_t begin = clamped(first + p.least_distance, 0, p.keys);
  const int64_t end = clamped(last + p.greatest_distance + 1, begin, p.keys);
  return {begin == end ? end : begin / kKeys * kKeys, end};
}
// The queries that attend to any of the keys [first, last].
template <int64_t kQueries>
inline Range queries_of(const AttentionProblem& p, int64_t first, int64_t last) {
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
inline ScoreFrame queries_by_keys(const AttentionProblem& p, const ScorePlace& at) {
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
inline ScoreFrame keys_by_queries(const AttentionProblem& p, const ScorePlace& at) {
  const ScoreFrame t = queries_by_keys(p, at);
  return {t.columns, t.rows, 1 - t.last, 1 - t.first, t.mask_offset, t.mask_column, t.mask_row};
}

// From q·k to scores: scaled, capped, with the mask; −∞ for what is excluded and for what does not exist.
template <int64_t kRows, int64_t kColumns>
class ScoreRules {
 public:
  typedef Tile<kRows, kColumns> Scores;

  // With kSlopes, `slopes` receives the derivative of the cap where there is one.
  template <bool kSlopes>
  void apply(const AttentionProblem& p, const ScoreFrame& frame, Scores& s, Scores& slopes) {
    const float scale = p.scale;
    each(s, [=](float* x, int64_t) {
      for (int64_t c = 0; c < kColumns; ++c) x[c] = x[c] * scale;
    });
    if (p.softcap != 0) cap<kSlopes>(p.softcap, s, slopes);
    if (p.bias != nullptr) {
      load_mask(frame, p.bias, [](float x) { return x; });
      each(s, [&](float* x, int64_t r) {
        const float* const m = mask_.row(r);
        for (int64_t c = 0; c < kColumns; ++c) x[c] = x[c] + m[c];
      });
    }
    if (p.allowed != nullptr) {
      load_mask(frame, p.allowed, [](uint8_t x) { return x == 0 ? kExcluded : 0.0F; });
      each(s, [&](float* x, int64_t r) {
        const float* const m = mask_.row(r);
        for (int64_t c = 0; c < kColumns; ++c) x[c] = m[c] == 0.0F ? x[c] : kExcluded;
      });
    }
    apply_limits(frame, s);
  }

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

  // The existing part of mask_: along the memory's rows, whichever way the tile has them.
  template <typename T, typename Convert>
  void load_mask(const ScoreFrame& f, const T* mask, const Convert& convert) {
    const T* const x = mask + f.mask_offset;
    if (f.mask_row == 1 && f.mask_column > 1) {
      convert_rows(mask_columns_, x, f.mask_column, 1, f.columns, f.rows, convert);
      return transpose(mask_columns_, mask_);
    }
    convert_rows(mask_, x, f.mask_row, f.mask_column, f.mask_row == 0 ? 1 : f.rows, f.columns, convert);
    if (f.mask_row == 0)
      for (int64_t r = 1; r < f.rows; ++r) copy_row<kColumns>(mask_.row(r), mask_.row(0));
  }

  template <typename To, typename T, typename Convert>
  static void convert_rows(To& to, const T* from, int64_t row_stride, int64_t column_stride, int64_t rows,
                           int64_t columns, const Convert& convert) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* const x = from + r * row_stride;
      float* const y = to.row(r);
      if (column_stride == 1)
        for (int64_t c = 0; c < columns; ++c) y[c] = convert(x[c]);
      else
        for (int64_t c = 0; c < columns; ++c) y[c] = convert(x[c * column_stride]);
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
template <int64_t kQueries, int64_t kKeys, int64_t kDepth, int64_t kValueDepth>
class AttentionForward {
 public:
  AttentionForward(const AttentionProblem& problem, const AttentionTensor& q, const AttentionTensor& k,
                   const AttentionTensor& v, const AttentionTensor& o, const AttentionTensor& lse)
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
      rules_.template apply<false>(p_, keys_by_queries(p_, {batch, head, query, key, rows, columns}), s_, s_);
      normalise();
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
  const AttentionProblem& p_;
  const AttentionTensor &q_, &k_, &v_, &o_, &lse_;
  Tile<kQueries, kDepth> q_tile_;
  Tile<tile_columns(kDepth), kQueries> q_transposed_;
  Tile<kKeys, kDepth> k_tile_;
  Tile<kKeys, kValueDepth> v_tile_;
  ScoreRules<kKeys, kQueries> rules_;
  Tile<kKeys, kQueries> s_;
  Values sum_of_values_;
  float maximum_[kQueries], sum_[kQueries];
};

template <int64_t kQueries, int64_t kKeys, int64_t kDepth, int64_t kValueDepth>
inline void attention_forward(const StepcKernelArgs* args, const AttentionProblem& p, const AttentionTensor& q,
                              const AttentionTensor& k, const AttentionTensor& v, const AttentionTensor& o,
                              const AttentionTensor& lse) {
  typedef AttentionForward<kQueries, kKeys, kDepth, kValueDepth> Forward;
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
