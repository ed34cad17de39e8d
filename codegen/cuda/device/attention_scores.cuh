#pragma once

#include "codegen/cuda/device/fragment.cuh"
#include "codegen/device/math_f32.h"
#include "codegen/device/philox.h"
#include "codegen/device/reduction.h"

// From q·k to scores, by fragments: what forward and backward of attention share.
namespace stepc_device {

// A tensor of four axes [batch, head, row, column], strides in elements.
template <typename E>
struct AttentionTensor {
  E* data;
  int64_t strides[4];

  __device__ __forceinline__ E* at(int64_t batch, int64_t head, int64_t row) const {
    return data + batch * strides[0] + head * strides[1] + row * strides[2];
  }
  // From column `column` of row `row` on.
  __device__ __forceinline__ MatrixView<E> matrix(int64_t batch, int64_t head, int64_t row, int64_t column = 0) const {
    return {at(batch, head, row) + column * strides[3], strides[2], strides[3]};
  }
};

struct NoMask {};

// Mask: float, bfloat16 or half, added to the scores; uint8_t, where 0 excludes the key; NoMask.
template <typename Mask>
struct AttentionProblem {
  int64_t batch, heads, key_heads, queries, keys;
  int64_t least_distance, greatest_distance;  // of a key from a query that attends to it
  float scale, softcap;                       // softcap 0: none
  const Mask* mask;
  int64_t mask_strides[4];    // over [batch, head, query, key]
  float dropout, kept_scale;  // dropout 0: none
  int64_t dropout_key;
  const int64_t* dropout_step;  // where there is dropout
};

struct TileRange {
  int64_t begin, end;
};
__device__ __forceinline__ int64_t clamped(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : (x > high ? high : x);
}
// The existing rows of a tile of kCount.
template <int kCount>
__device__ __forceinline__ int rows_of_tile(int64_t first, int64_t extent) {
  return static_cast<int>(clamped(extent - first, 0, kCount));
}

// The keys that any of the queries [first, last] attends to, beginning with a whole tile.
template <int kKeys, typename Mask>
__device__ __forceinline__ TileRange keys_of(const AttentionProblem<Mask>& p, int64_t first, int64_t last) {
  const int64_t begin = clamped(first + p.least_distance, 0, p.keys);
  const int64_t end = clamped(last + p.greatest_distance + 1, begin, p.keys);
  return {begin == end ? end : begin / kKeys * kKeys, end};
}
// The queries that attend to any of the keys [first, last].
template <int kQueries, typename Mask>
__device__ __forceinline__ TileRange queries_of(const AttentionProblem<Mask>& p, int64_t first, int64_t last) {
  const int64_t begin = clamped(first - p.greatest_distance, 0, p.queries);
  const int64_t end = clamped(last - p.least_distance + 1, begin, p.queries);
  return {begin == end ? end : begin / kQueries * kQueries, end};
}

// Where a tile of scores lies: its first query and key. Its rows are queries, or keys.
struct ScorePlace {
  int64_t batch, head, query, key;
};

template <typename Mask>
__device__ __forceinline__ float masked(const AttentionProblem<Mask>& p, const ScorePlace& at, int64_t query,
                                        int64_t key, float x) {
  const int64_t* const m = p.mask_strides;
  return x + widened(load(p.mask, at.batch * m[0] + at.head * m[1] + query * m[2] + key * m[3]));
}
// What a bool excludes is −∞ whatever it was, NaN too.
__device__ __forceinline__ float masked(const AttentionProblem<uint8_t>& p, const ScorePlace& at, int64_t query,
                                        int64_t key, float x) {
  const int64_t* const m = p.mask_strides;
  const uint8_t kept = load(p.mask, at.batch * m[0] + at.head * m[1] + query * m[2] + key * m[3]);
  return kept == 0 ? Limits<float>::low() : x;
}
__device__ __forceinline__ float masked(const AttentionProblem<NoMask>&, const ScorePlace&, int64_t, int64_t, float x) {
  return x;
}

// A tile of scores of kOwn rows by kOther columns, in fragments. kByKeys: rows are keys, columns queries.
template <typename Fragment, int kOwn, int kOther, bool kByKeys>
struct ScoreTile {
  static constexpr int kRows = Fragment::kRows;
  static constexpr int kColumns = kOther / Fragment::kRowLanes;  // of a thread
  static constexpr int kKeptStride = kOther + 4;
  static constexpr int kKeptBytes = kOwn * kKeptStride;
  typedef float Scores[kRows][kColumns];

  __device__ __forceinline__ static int64_t query(const ScorePlace& at, int i, int j) {
    return at.query + (kByKeys ? Fragment::score_column(j) : Fragment::row(i));
  }
  __device__ __forceinline__ static int64_t key(const ScorePlace& at, int i, int j) {
    return at.key + (kByKeys ? Fragment::row(i) : Fragment::score_column(j));
  }

  // Scaled, capped, masked and within the limits; −∞ for what is excluded and for what does not exist. `slopes`
  // receives the derivative of the cap where there is one.
  template <typename Mask>
  __device__ __forceinline__ static void apply(const AttentionProblem<Mask>& p, const ScorePlace& at, Scores& s,
                                               Scores& slopes) {
    constexpr int kQueries = kByKeys ? kOther : kOwn, kKeys = kByKeys ? kOwn : kOther;
    const int64_t diagonal = at.key - at.query;
    const bool whole = at.query + kQueries <= p.queries && at.key + kKeys <= p.keys &&
                       diagonal - (kQueries - 1) >= p.least_distance && diagonal + kKeys - 1 <= p.greatest_distance;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int64_t q = query(at, i, j), k = key(at, i, j);
        float x = s[i][j] * p.scale;
        if (p.softcap != 0.0F) {
          const float t = tanh_f32(x / p.softcap);
          x = t * p.softcap;
          slopes[i][j] = 1.0F - t * t;
        }
        const bool inside =
            whole || (q < p.queries && k < p.keys && k - q >= p.least_distance && k - q <= p.greatest_distance);
        s[i][j] = inside ? masked(p, at, q, k, x) : Limits<float>::low();
      }
  }

  // Which weights of the tile are kept, for the rows of this warp, which alone uses them. Four elements of a random
  // tensor come from one block.
  template <typename Mask>
  __device__ __forceinline__ static void find_kept(const AttentionProblem<Mask>& p, const ScorePlace& at,
                                                   uint8_t* kept) {
    constexpr int kLines = kByKeys ? kOther : Fragment::kWarpRows;  // queries
    constexpr int kRun = kByKeys ? Fragment::kWarpRows : kOther;    // keys
    constexpr int kBlocks = kRun / 4 + 1;
    const int own = warp_index() * Fragment::kWarpRows;
    const int64_t step = load(p.dropout_step, 0);
    __syncwarp();
    for (int n = lane_index(); n < kLines * kBlocks; n += kWarpLanes) {
      const int line = n / kBlocks, block = n % kBlocks;
      const int64_t query = (at.batch * p.heads + at.head) * p.queries + at.query + (kByKeys ? line : own + line);
      const int64_t first = query * p.keys + at.key + (kByKeys ? own : 0);
      const PhiloxWords words = philox_words(p.dropout_key, step, first / 4 + block);
      const uint32_t word[4] = {words.w0, words.w1, words.w2, words.w3};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int k = 4 * block + w - static_cast<int>(first % 4);
        if (k < 0 || k >= kRun) continue;
        const int place = kByKeys ? (own + k) * kKeptStride + line : (own + line) * kKeptStride + k;
        shared_store(kept, place, static_cast<uint8_t>(p.dropout <= philox_uniform_of(word[w]) ? 1 : 0));
      }
    }
    __syncwarp();
  }

  __device__ __forceinline__ static void drop(Scores& x, const uint8_t* kept, float kept_scale) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        x[i][j] =
            x[i][j] *
            (shared_load(kept, Fragment::row(i) * kKeptStride + Fragment::score_column(j)) != 0 ? kept_scale : 0.0F);
  }
};

}  // namespace stepc_device
