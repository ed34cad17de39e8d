#pragma once

#include "codegen/cuda/device/attention_scores.cuh"

// The gradients of attention from q, k, v, the result o and its log-sum-exp (Dao et al. 2022, appendix B.4). With
// delta = Σ_d do·o per query, per tile:
//   P = exp(s − lse − rest),  dP = Z∘(do·vᵀ) with the factors Z of dropout,  dS = P∘(dP − delta)∘slope·scale,
//   dv += (P∘Z)ᵀ·do,  dk += dSᵀ·q,  dq += dS·k,  dmask += P∘(dP − delta)
// `rest` is what lse lost where it was rounded, log Σ_j exp(s − lse): dq is found first without it, then scaled by it.
// In stages: delta; dq and rest, a block per tile of queries; dk and dv, a block per tile of keys; dmask, a block per
// tile of the mask. Every sum has one owner and one order.
namespace stepc_device {

template <typename E, typename Mask>
struct AttentionGradients {
  AttentionTensor<const E> q, k, v, o;
  AttentionTensor<const float> lse;
  AttentionTensor<const E> d_o;
  AttentionTensor<E> dq, dk, dv;
  AttentionTensor<Mask> d_mask;  // strides over [batch, head, query, key], 0 where it is a sum
  float *delta, *rest;           // [batch, heads, queries]
};

// delta of one query per warp.
template <int kThreads, int kValueDepth, typename E, typename Mask>
__device__ __forceinline__ void attention_delta(const AttentionProblem<Mask>& p, const AttentionGradients<E, Mask>& t) {
  const int64_t query = int64_t{blockIdx.x} * (kThreads / kWarpLanes) + warp_index();
  if (query >= p.batch * p.heads * p.queries) return;
  const int64_t row = query / p.queries, batch = row / p.heads, head = row % p.heads;
  const E* const o = t.o.at(batch, head, query % p.queries);
  const E* const d_o = t.d_o.at(batch, head, query % p.queries);
  float sum = 0;
  for (int c = lane_index(); c < kValueDepth; c += kWarpLanes)
    sum = __fmaf_rn(widened(load(d_o, c * t.d_o.strides[3])), widened(load(o, c * t.o.strides[3])), sum);
  sum = combine_lanes<kWarpLanes, SumOf<float>>(sum);
  if (lane_index() == 0) store(t.delta, query, sum);
}

// What a stage of the backward owns: a tile of keys, with the queries for columns, or of queries.
enum class GradientOf { keys, queries, mask };

// Tiles of kOwn rows by kOther columns. Products over depths go in steps of kStep; a block holds kSlice columns of its
// results.
template <typename FragmentType, GradientOf kOf, int kOwn, int kOther, int kStep, int kSlice, int kDepth,
          int kValueDepth>
struct AttentionBackward {
  typedef FragmentType Fragment;
  typedef typename Fragment::Operand E;
  static constexpr bool kByKeys = kOf == GradientOf::keys;
  typedef ScoreTile<Fragment, kOwn, kOther, kByKeys> Tile;
  static constexpr int kRows = Fragment::kRows, kColumns = Tile::kColumns;
  static constexpr int kThreads = kOwn / Fragment::kWarpRows * kWarpLanes;
  static constexpr int kGreatestDepth = kDepth > kValueDepth ? kDepth : kValueDepth;
  static constexpr int kResults = kOf == GradientOf::queries ? kDepth : kGreatestDepth;
  static constexpr int kSlices = kOf == GradientOf::mask ? 1 : (kResults + kSlice - 1) / kSlice;
  static constexpr int kStride = padded_stride<E>(kStep), kSliceStride = padded_stride<E>(kSlice);
  // Whole rows of all operands lie in shared memory: of the owned tile for good, and what is multiplied by scores is
  // there already.
  static constexpr bool kResident = kGreatestDepth <= kStep;
  static constexpr int kValueStride = kResident ? kStride : kSliceStride;
  static_assert(kStep % Fragment::kDepthUnit == 0 && kSlice % Fragment::kColumnUnit == 0, "whole units");
  static_assert(!kResident || kSlice <= kStep, "a row holds a slice");

  // Where things lie in shared memory, in elements of E: two owned tiles and two others, or one each and a slice.
  static constexpr int kTiles = kResident ? 2 : 1;
  static constexpr int kOtherPlace = kTiles * kOwn * kStride;
  static constexpr int kSlicePlace = kOtherPlace + kTiles * kOther * kStride;
  static constexpr int kStagingPlace = kSlicePlace + (kResident || kOf == GradientOf::mask ? 0 : kOther * kSliceStride);
  static constexpr int kKeptPlace =
      kStagingPlace + (kOf == GradientOf::mask ? 0 : Fragment::staging_elements(kOther, kOwn));
  static constexpr int kMaskSumStride = kOther + 1;
  static __device__ constexpr int shared_bytes(bool drops) {
    const int bytes = kKeptPlace * static_cast<int>(sizeof(E)) + (drops ? Tile::kKeptBytes : 0);
    const int sums = kOf == GradientOf::mask ? kOwn * kMaskSumStride * static_cast<int>(sizeof(float)) : 0;
    return bytes > sums ? bytes : sums;
  }

  typename Tile::Scores weights, ds;  // P∘Z and dS
  float weight_sum[kRows];            // of a query, this thread's share: where queries are owned
  bool owned_is_loaded = false;

  // dk and dv of a tile of keys.
  template <typename Mask>
  __device__ __forceinline__ void keys(const AttentionProblem<Mask>& p, const AttentionGradients<E, Mask>& t) {
    const int64_t tiles = (p.keys + kOwn - 1) / kOwn, group = p.heads / p.key_heads;
    const int64_t slice = blockIdx.x % kSlices * kSlice, task = blockIdx.x / kSlices, row = task / tiles;
    const int64_t batch = row / p.key_heads, key_head = row % p.key_heads, key = task % tiles * kOwn;
    const int rows = rows_of_tile<kOwn>(key, p.keys);
    float dk[kRows][kSlice / Fragment::kRowLanes], dv[kRows][kSlice / Fragment::kRowLanes];
    fill(dk, 0);
    fill(dv, 0);
    const TileRange range = queries_of<kOther>(p, key, key + rows - 1);
    for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
      for (int64_t query = range.begin; query < range.end; query += kOther) {
        const ScorePlace at{batch, head, query, key};
        find_gradients(p, t, at, key_head);
        const int columns = rows_of_tile<kOther>(query, p.queries);
        add_product(dv, weights, 1, t.d_o, batch, head, query, slice, columns, kValueDepth);
        add_product(dk, ds, 0, t.q, batch, head, query, slice, columns, kDepth);
      }
    store_slice(t.dk.matrix(batch, key_head, key, slice), dk, rows, slice, kDepth);
    store_slice(t.dv.matrix(batch, key_head, key, slice), dv, rows, slice, kValueDepth);
  }

  // dq of a tile of queries.
  template <typename Mask>
  __device__ __forceinline__ void queries(const AttentionProblem<Mask>& p, const AttentionGradients<E, Mask>& t) {
    const int64_t tiles = (p.queries + kOwn - 1) / kOwn;
    const int64_t slice = blockIdx.x % kSlices * kSlice, task = blockIdx.x / kSlices, row = task / tiles;
    const int64_t batch = row / p.heads, head = row % p.heads, query = (tiles - 1 - task % tiles) * kOwn;
    const int64_t key_head = head / (p.heads / p.key_heads);
    const int rows = rows_of_tile<kOwn>(query, p.queries);
    float dq[kRows][kSlice / Fragment::kRowLanes];
    fill(dq, 0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) weight_sum[i] = 0;
    const TileRange range = keys_of<kOther>(p, query, query + rows - 1);
    for (int64_t key = range.begin; key < range.end; key += kOther) {
      find_gradients(p, t, {batch, head, query, key}, key_head);
      add_product(dq, ds, 0, t.k, batch, key_head, key, slice, rows_of_tile<kOther>(key, p.keys), kDepth);
    }
    finish_rest(t.rest + row * p.queries + query, dq, slice, rows);
    store_slice(t.dq.matrix(batch, head, query, slice), dq, rows, slice, kDepth);
  }

  // dmask of a tile of queries and keys, or of all of them where the mask is broadcast.
  template <typename Mask>
  __device__ __forceinline__ void mask(const AttentionProblem<Mask>& p, const AttentionGradients<E, Mask>& t) {
    const int64_t* const m = t.d_mask.strides;
    const int64_t query_tiles = (p.queries + kOwn - 1) / kOwn, key_tiles = (p.keys + kOther - 1) / kOther;
    int64_t task = blockIdx.x;
    const TileRange keys = part(m[3], task, key_tiles, kOther, p.keys);
    const TileRange queries = part(m[2], task, query_tiles, kOwn, p.queries);
    const TileRange heads = part(m[1], task, p.heads, 1, p.heads);
    const TileRange batches = part(m[0], task, p.batch, 1, p.batch);
    typename Tile::Scores sum;
    fill(sum, 0);
    for (int64_t batch = batches.begin; batch < batches.end; ++batch)
      for (int64_t head = heads.begin; head < heads.end; ++head)
        for (int64_t query = queries.begin; query < queries.end; query += kOwn) {
          owned_is_loaded = false;
          const int rows = rows_of_tile<kOwn>(query, p.queries);
          const TileRange range = keys_of<kOther>(p, query, query + rows - 1);
          for (int64_t key = keys.begin; key < keys.end; key += kOther) {
            if (key + kOther <= range.begin || key >= range.end) continue;
            find_gradients(p, t, {batch, head, query, key}, head / (p.heads / p.key_heads));
#pragma unroll
            for (int i = 0; i < kRows; ++i)
#pragma unroll
              for (int j = 0; j < kColumns; ++j) sum[i][j] = sum[i][j] + ds[i][j];
          }
        }
    store_mask(t.d_mask, sum, batches.begin, heads.begin, queries, keys, p);
  }

 private:
  __device__ __forceinline__ static E* shared_tiles() { return reinterpret_cast<E*>(stepc_shared); }

  // Takes this axis' tile off `task`, the innermost first; all of the axis where the mask's stride is 0.
  __device__ __forceinline__ static TileRange part(int64_t stride, int64_t& task, int64_t tiles, int64_t size,
                                                   int64_t extent) {
    if (stride == 0) return {0, extent};
    const int64_t tile = task % tiles;
    task = task / tiles;
    return {tile * size, clamped((tile + 1) * size, 0, extent)};
  }

  // x = own·otherᵀ over the depth; `place` says which of the tiles in shared memory they are.
  template <int kExtent>
  __device__ __forceinline__ void product(typename Tile::Scores& x, int place, const AttentionTensor<const E>& own,
                                          int64_t own_head, int64_t own_row, int own_rows,
                                          const AttentionTensor<const E>& other, int64_t other_head, int64_t other_row,
                                          int other_rows, int64_t batch) {
    E* const a = shared_tiles() + (kResident ? place * kOwn * kStride : 0);
    E* const b = shared_tiles() + kOtherPlace + (kResident ? place * kOther * kStride : 0);
    fill(x, 0);
#pragma unroll 1
    for (int step = 0; step < kExtent; step += kStep) {
      const int depth = kExtent - step < kStep ? kExtent - step : kStep;
      __syncthreads();
      if (!kResident || !owned_is_loaded)
        load_tile<kThreads, kOwn, kStep>(a, kStride, own.matrix(batch, own_head, own_row, step), own_rows, depth);
      load_tile<kThreads, kOther, kStep>(b, kStride, other.matrix(batch, other_head, other_row, step), other_rows,
                                         depth);
      commit_async();
      wait_async<0>();
      __syncthreads();
      Fragment::scores(x, a, b, kStride, whole_units<Fragment>(depth));
    }
  }

  // `weights` and `ds` of the tile at `at`.
  template <typename Mask>
  __device__ __forceinline__ void find_gradients(const AttentionProblem<Mask>& p, const AttentionGradients<E, Mask>& t,
                                                 const ScorePlace& at, int64_t key_head) {
    const int queries = rows_of_tile < kByKeys ? kOther : kOwn > (at.query, p.queries);
    const int keys = rows_of_tile < kByKeys ? kOwn : kOther > (at.key, p.keys);
    if (kByKeys) {
      product<kDepth>(weights, 0, t.k, key_head, at.key, keys, t.q, at.head, at.query, queries, at.batch);
      product<kValueDepth>(ds, 1, t.v, key_head, at.key, keys, t.d_o, at.head, at.query, queries, at.batch);
    } else {
      product<kDepth>(weights, 0, t.q, at.head, at.query, queries, t.k, key_head, at.key, keys, at.batch);
      product<kValueDepth>(ds, 1, t.d_o, at.head, at.query, queries, t.v, key_head, at.key, keys, at.batch);
    }
    owned_is_loaded = true;
    typename Tile::Scores slopes;
    Tile::apply(p, at, weights, slopes);
    uint8_t* const kept = reinterpret_cast<uint8_t*>(shared_tiles() + kKeptPlace);
    const bool drops = p.dropout != 0.0F;
    if (drops) {
      Tile::find_kept(p, at, kept);
      Tile::drop(ds, kept, p.kept_scale);
    }
    differentiate(p, t, at, slopes);
    if (drops && kByKeys) Tile::drop(weights, kept, p.kept_scale);
  }

  // From scores and dP to P and dS.
  template <typename Mask>
  __device__ __forceinline__ void differentiate(const AttentionProblem<Mask>& p, const AttentionGradients<E, Mask>& t,
                                                const ScorePlace& at, const typename Tile::Scores& slopes) {
    const float* const lse = t.lse.at(at.batch, at.head, 0);
    const int64_t statistics = (at.batch * p.heads + at.head) * p.queries;
    constexpr int kCount = kByKeys ? kColumns : kRows;
    float shift[kCount], rest[kCount], delta[kCount];
#pragma unroll
    for (int n = 0; n < kCount; ++n) {
      const int64_t query = Tile::query(at, n, n);
      const float x = query < p.queries ? load(lse, query * t.lse.strides[2]) : Limits<float>::low();
      shift[n] = x == Limits<float>::low() ? -x : x;  // a dead query: P is 0
      delta[n] = query < p.queries ? load(t.delta, statistics + query) : 0.0F;
      rest[n] = kOf != GradientOf::queries && query < p.queries ? load(t.rest, statistics + query) : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int n = kByKeys ? j : i;
        const float x = weights[i][j], weight = exp_bounded_f32((x - shift[n]) - rest[n]);
        float d = weight * (ds[i][j] - delta[n]);
        if (kOf != GradientOf::mask) d = d * p.scale;
        if (kOf != GradientOf::mask && p.softcap != 0.0F) d = d * slopes[i][j];
        ds[i][j] = x == Limits<float>::low() ? 0.0F : d;
        weights[i][j] = weight;
        if (kOf == GradientOf::queries) weight_sum[i] = weight_sum[i] + weight;
      }
  }

  // Keeps the rest of the tile's queries, from `to` on, and scales dq by it. A dead query has none.
  __device__ __forceinline__ void finish_rest(float* to, float (&dq)[kRows][kSlice / Fragment::kRowLanes],
                                              int64_t slice, int rows) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float total = combine_lanes<Fragment::kRowLanes, SumOf<float>>(weight_sum[i]);
      const float sum = total == 0.0F ? 1.0F : total;
#pragma unroll
      for (int j = 0; j < kSlice / Fragment::kRowLanes; ++j) dq[i][j] = dq[i][j] / sum;
      const int r = Fragment::row(i);
      if (slice == 0 && lane_index() % Fragment::kRowLanes == 0 && r < rows) store(to, r, log_f32(sum));
    }
  }

  // sum += x·(columns [slice, slice + kSlice) of `other`), whose tile `place` is in shared memory if it is resident.
  __device__ __forceinline__ void add_product(float (&sum)[kRows][kSlice / Fragment::kRowLanes],
                                              const typename Tile::Scores& x, int place,
                                              const AttentionTensor<const E>& other, int64_t batch, int64_t head,
                                              int64_t row, int64_t slice, int rows, int extent) {
    E* values = shared_tiles() + kOtherPlace + place * kOther * kStride;
    if (!kResident) {
      values = shared_tiles() + kSlicePlace;
      __syncthreads();
      load_tile<kThreads, kOther, kSlice>(values, kSliceStride, other.matrix(batch, head, row, slice), rows,
                                          rows_of_tile<kSlice>(slice, extent));
      commit_async();
      wait_async<0>();
      __syncthreads();
    }
    Fragment::values(sum, x, shared_tiles() + kStagingPlace, values, kValueStride);
  }

  __device__ __forceinline__ static void store_slice(MatrixView<E> to,
                                                     const float (&x)[kRows][kSlice / Fragment::kRowLanes], int rows,
                                                     int64_t slice, int extent) {
    store_values<Fragment>(to, x, rows, rows_of_tile<kSlice>(slice, extent));
  }

  template <typename Mask>
  __device__ __forceinline__ static void store_mask(const AttentionTensor<Mask>& to, const typename Tile::Scores& sum,
                                                    int64_t batch, int64_t head, TileRange queries, TileRange keys,
                                                    const AttentionProblem<Mask>& p) {
    float* const sums = reinterpret_cast<float*>(stepc_shared);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        shared_store(sums, Fragment::row(i) * kMaskSumStride + Fragment::score_column(j), sum[i][j]);
    __syncthreads();
    const bool one_row = to.strides[2] == 0, one_column = to.strides[3] == 0;
    const int rows = one_row ? 1 : rows_of_tile<kOwn>(queries.begin, p.queries);
    const int columns = one_column ? 1 : rows_of_tile<kOther>(keys.begin, p.keys);
    const int added_rows = one_row ? kOwn : 1, added_columns = one_column ? kOther : 1;
    for (int n = thread_index(); n < rows * columns; n += kThreads) {
      const int r = n / columns, c = n % columns;
      float total = 0;
      for (int j = 0; j < added_columns; ++j)
        for (int i = 0; i < added_rows; ++i) total = total + shared_load(sums, (r + i) * kMaskSumStride + c + j);
      Mask result;
      narrow(total, result);
      store(to.at(batch, head, queries.begin), r * to.strides[2] + (keys.begin + c) * to.strides[3], result);
    }
  }
};

}  // namespace stepc_device
