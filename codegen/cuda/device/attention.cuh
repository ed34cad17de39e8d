#pragma once

#include "codegen/cuda/device/attention_scores.cuh"

// Attention by tiles of queries and keys: a block owns a tile of queries and walks over the keys that they attend to,
// the softmax online, with a running maximum and sum per query, and a sum of values that is scaled down where the
// maximum grows (Milakov and Gimelshein 2018; Dao 2023). Scores stay in registers.
namespace stepc_device {

// Tiles of kQueries by kKeys. q·k goes in steps of kStep of the depth; a block holds kSlice columns of the result, and
// where there are more, several blocks form the same scores.
template <typename FragmentType, int kQueries, int kKeys, int kStep, int kSlice, int kDepth, int kValueDepth>
struct AttentionForward {
  typedef FragmentType Fragment;
  typedef typename Fragment::Operand E;
  typedef ScoreTile<Fragment, kQueries, kKeys, false> Tile;
  static constexpr int kRows = Fragment::kRows;
  static constexpr int kThreads = kQueries / Fragment::kWarpRows * kWarpLanes;
  static constexpr int kSlices = (kValueDepth + kSlice - 1) / kSlice;
  static constexpr int kStride = padded_stride<E>(kStep), kValueStride = padded_stride<E>(kSlice);
  static constexpr bool kResident = kDepth <= kStep;  // q stays for all keys
  static_assert(kStep % Fragment::kDepthUnit == 0 && kSlice % Fragment::kColumnUnit == 0, "whole units");

  // Where things lie in shared memory, in elements of E. Weights go where the keys were.
  static constexpr int kStaging = Fragment::staging_elements(kKeys, kQueries);
  static constexpr int kKeyElements = kKeys * kStride > kStaging ? kKeys* kStride : kStaging;
  static constexpr int kKeyPlace = kQueries * kStride;
  static constexpr int kValuePlace = kKeyPlace + kKeyElements;
  static constexpr int kKeptPlace = kValuePlace + kKeys * kValueStride;
  // With dropout.
  static __device__ constexpr int shared_bytes(bool drops) {
    return kKeptPlace * static_cast<int>(sizeof(E)) + (drops ? Tile::kKeptBytes : 0);
  }

  typename Tile::Scores s;
  float sum_of_values[kRows][kSlice / Fragment::kRowLanes];
  float maximum[kRows], sum[kRows];  // sum: of this lane's columns

  template <typename Mask>
  __device__ __forceinline__ void run(const AttentionProblem<Mask>& p, const AttentionTensor<const E>& q,
                                      const AttentionTensor<const E>& k, const AttentionTensor<const E>& v,
                                      const AttentionTensor<E>& o, const AttentionTensor<float>& lse) {
    const int64_t tiles = (p.queries + kQueries - 1) / kQueries;
    const int64_t slice = blockIdx.x % kSlices, task = blockIdx.x / kSlices;
    const int64_t row = task / tiles, batch = row / p.heads, head = row % p.heads;
    // Under a causal mask the last tiles have the most to do: they come first.
    const int64_t query = (tiles - 1 - task % tiles) * kQueries;
    const int rows = rows_of_tile<kQueries>(query, p.queries);
    const int64_t key_head = head / (p.heads / p.key_heads);

    fill(sum_of_values, 0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      maximum[i] = Limits<float>::low();
      sum[i] = 0;
    }
    const TileRange range = keys_of<kKeys>(p, query, query + rows - 1);
    for (int64_t key = range.begin; key < range.end; key += kKeys) {
      const int columns = rows_of_tile<kKeys>(key, p.keys);
      scores(q, k, v, {batch, head, query, key}, key_head, slice * kSlice, rows, columns, key == range.begin);
      Tile::apply(p, {batch, head, query, key}, s, s);
      normalise();
      E* const tile = reinterpret_cast<E*>(stepc_shared);
      if (p.dropout != 0.0F) {
        uint8_t* const kept = reinterpret_cast<uint8_t*>(tile + kKeptPlace);
        Tile::find_kept(p, {batch, head, query, key}, kept);
        Tile::drop(s, kept, p.kept_scale);
      }
      wait_async<0>();
      __syncthreads();
      Fragment::values(sum_of_values, s, tile + kKeyPlace, tile + kValuePlace, kValueStride);
      __syncthreads();
    }
    finish(o, lse, batch, head, query, slice, rows);
  }

 private:
  // s = q·kᵀ, while the values are on their way.
  __device__ __forceinline__ void scores(const AttentionTensor<const E>& q, const AttentionTensor<const E>& k,
                                         const AttentionTensor<const E>& v, const ScorePlace& at, int64_t key_head,
                                         int64_t first_value, int rows, int columns, bool first) {
    E* const tile = reinterpret_cast<E*>(stepc_shared);
    fill(s, 0);
#pragma unroll 1
    for (int step = 0; step < kDepth; step += kStep) {
      const int depth = kDepth - step < kStep ? kDepth - step : kStep;
      if (step > 0) __syncthreads();
      if (first || !kResident)
        load_tile<kThreads, kQueries, kStep>(tile, kStride, q.matrix(at.batch, at.head, at.query, step), rows, depth);
      load_tile<kThreads, kKeys, kStep>(tile + kKeyPlace, kStride, k.matrix(at.batch, key_head, at.key, step), columns,
                                        depth);
      commit_async();
      if (step + kStep >= kDepth) {
        load_tile<kThreads, kKeys, kSlice>(tile + kValuePlace, kValueStride,
                                           v.matrix(at.batch, key_head, at.key, first_value), columns,
                                           value_columns(first_value));
        commit_async();
        wait_async<1>();
      } else {
        wait_async<0>();
      }
      __syncthreads();
      Fragment::scores(s, tile, tile + kKeyPlace, kStride, whole_units<Fragment>(depth));
    }
  }

  __device__ __forceinline__ static int value_columns(int64_t first) {
    return rows_of_tile<kSlice>(first, kValueDepth);
  }

  // s ← exp(s − maximum), with what was summed before under the new maximum.
  __device__ __forceinline__ void normalise() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float greatest = maximum[i];
#pragma unroll
      for (int j = 0; j < Tile::kColumns; ++j) greatest = MaxOf<float>::combine(greatest, s[i][j]);
      greatest = combine_lanes<Fragment::kRowLanes, MaxOf<float>>(greatest);
      const float shift = greatest == Limits<float>::low() ? 0.0F : greatest;  // nothing to attend to so far
      const float factor = exp_bounded_f32(maximum[i] - shift);
      maximum[i] = greatest;
      float added = 0;
#pragma unroll
      for (int j = 0; j < Tile::kColumns; ++j) {
        s[i][j] = exp_bounded_f32(s[i][j] - shift);
        added = added + s[i][j];
      }
      sum[i] = sum[i] * factor + added;
#pragma unroll
      for (int j = 0; j < kSlice / Fragment::kRowLanes; ++j) sum_of_values[i][j] = sum_of_values[i][j] * factor;
    }
  }

  __device__ __forceinline__ void finish(const AttentionTensor<E>& o, const AttentionTensor<float>& lse, int64_t batch,
                                         int64_t head, int64_t query, int64_t slice, int rows) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const bool dead = maximum[i] == Limits<float>::low();
      const float total = combine_lanes<Fragment::kRowLanes, SumOf<float>>(sum[i]);
#pragma unroll
      for (int j = 0; j < kSlice / Fragment::kRowLanes; ++j)
        sum_of_values[i][j] = dead ? 0.0F : sum_of_values[i][j] / total;
      const int r = Fragment::row(i);
      if (slice == 0 && lane_index() % Fragment::kRowLanes == 0 && r < rows)
        store(lse.at(batch, head, query), r * lse.strides[2], dead ? maximum[i] : maximum[i] + log_f32(total));
    }
    store_values<Fragment>(o.matrix(batch, head, query, slice * kSlice), sum_of_values, rows,
                           value_columns(slice * kSlice));
  }
};

}  // namespace stepc_device
