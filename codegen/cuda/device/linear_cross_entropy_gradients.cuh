#pragma once

#include "codegen/cuda/device/linear_cross_entropy.cuh"

namespace stepc_device {

// The gradients of a chunk's logits in their place: with p = exp(x − lse) and q the smoothed target, weight·((1 +
// 2·z_loss·lse)·p − q). A block takes one class per lane, a warp every kWarps-th row; their sums are dbias.
template <int kThreads, typename Label, typename X>
__device__ __forceinline__ void differentiate_logits(const LossProblem<Label, X>& p) {
  constexpr int kWarps = kThreads / kWarpLanes;
  const int64_t chunk = p.first_row(), own = int64_t{blockIdx.x} * kWarpLanes + lane_index();
  const int rows = p.rows_of_chunk(chunk);
  const float elsewhere = p.smoothing / static_cast<float>(p.classes), here = 1.0F - p.smoothing + elsewhere;
  float sum = 0;
  if (own < p.classes)
    for (int r = warp_index(); r < rows; r += kWarps) {
      const LossRow known = load_vector<4>(p.known, r * 4);
      const int32_t label = load(p.label, r);
      const int64_t at = r * p.logits_stride + own;
      const float probability = exp_bounded_f32((load(p.logits, at) - known[0]) - known[1]);
      const float d = (known[2] * probability - (label == own ? here : elsewhere)) * known[3];
      store(p.logits, at, label < 0 ? 0.0F : d);
      sum = sum + (label < 0 ? 0.0F : d);
    }
  if (p.dbias == nullptr) return;
  __shared__ float sums[kThreads];
  shared_store(sums, thread_index(), sum);
  __syncthreads();
  if (warp_index() != 0 || own >= p.classes) return;
  float total = chunk == 0 ? 0.0F : load(p.dbias, own * p.dbias_stride);
  for (int warp = 0; warp < kWarps; ++warp) total = total + shared_load(sums, warp * kWarpLanes + lane_index());
  store(p.dbias, own * p.dbias_stride, total);
}

// Tiles of kRows rows by kColumns columns of what gradients of logits are multiplied to, in steps of kStep.
template <int kRows, int kColumns, int kStep, typename Fragment>
struct GradientTile {
  typedef typename Fragment::Operand E;
  static constexpr int kThreads = kRows / Fragment::kWarpRows * kWarpLanes;
  static constexpr int kStride = padded_stride<E>(kStep), kValueStride = padded_stride<E>(kColumns);
  static constexpr int kDownStride = padded_stride<E>(kRows);
  static constexpr int kSharedBytes = (kRows * kStride + kStep * kValueStride) * static_cast<int>(sizeof(E));
  static_assert(!Fragment::kReadsDown || kStep * kDownStride <= kRows * kStride, "a tile of a lies either way");
  typedef float Sums[Fragment::kRows][kColumns / Fragment::kRowLanes];

  // What a group of classes adds to dx of the chunk: a block per tile of rows, tile of columns and group.
  template <typename Label, typename X>
  __device__ __forceinline__ static void dx(const LossProblem<Label, X>& p, int64_t group_classes) {
    const int64_t row_tiles = (p.chunk_rows + kRows - 1) / kRows, column_tiles = (p.depth + kColumns - 1) / kColumns;
    const int64_t chunk = p.first_row(), first = blockIdx.x % row_tiles * kRows, task = blockIdx.x / row_tiles;
    const int64_t column = task % column_tiles * kColumns, group = task / column_tiles;
    const int rows = existing<kRows>(first, p.rows_of_chunk(chunk)), columns = existing<kColumns>(column, p.depth);
    const int64_t begin = group * group_classes, left = p.classes - begin;
    const MatrixView<const float> a{p.logits + first * p.logits_stride + begin, p.logits_stride, 1};
    const MatrixView<const float> b{p.w.row(begin) + column * p.w.column_stride, p.w.row_stride, p.w.column_stride};
    Sums sums;
    multiply<false>(sums, a, rows, b, columns, left < group_classes ? left : group_classes);
    if (group_classes < p.classes) {
      float* const to = p.partial_dx + (group * p.chunk_rows + first) * p.depth + column;
      return store_values<Fragment>(MatrixView<float>{to, p.depth, 1}, sums, rows, columns);
    }
    SplitRows<X> to = p.dx.matrix(chunk + first, p.dx_column_stride);
    to.data += column * p.dx_column_stride;
    store_values<Fragment>(to, sums, rows, columns);
  }

  // What the chunk adds to dw: a block per tile of classes and of columns.
  template <typename Label, typename X>
  __device__ __forceinline__ static void dw(const LossProblem<Label, X>& p) {
    const int64_t column_tiles = (p.depth + kColumns - 1) / kColumns;
    const int64_t chunk = p.first_row(), column = blockIdx.x % column_tiles * kColumns;
    const int64_t first = blockIdx.x / column_tiles * kRows;
    const int classes = existing<kRows>(first, p.classes), columns = existing<kColumns>(column, p.depth);
    const MatrixView<const float> a{p.logits + first, 1, p.logits_stride};
    SplitRows<const X> b = p.x.matrix(chunk, p.x_column_stride);
    b.data += column * p.x_column_stride;
    Sums sums;
    multiply<Fragment::kReadsDown>(sums, a, classes, b, columns, p.rows_of_chunk(chunk));
    const MatrixView<float> to{p.dw.row(first) + column * p.dw.column_stride, p.dw.row_stride, p.dw.column_stride};
    store_values<Fragment>(to, sums, classes, columns, chunk != 0);
  }

 private:
  // sums = a·b over `extent`; kDown: a's tiles lie in shared memory with the rows innermost, as in global memory.
  template <bool kDown, typename A, typename B>
  __device__ __forceinline__ static void multiply(Sums& sums, A a, int rows, B b, int columns, int64_t extent) {
    E* const of_a = reinterpret_cast<E*>(stepc_shared);
    E* const of_b = of_a + kRows * kStride;
    fill(sums, 0);
#pragma unroll 1
    for (int64_t step = 0; step < extent; step += kStep) {
      const int inner = existing<kStep>(step, extent);
      __syncthreads();
      if constexpr (kDown)
        load_tile<kThreads, kStep, kRows>(of_a, kDownStride, A{a.data, a.column_stride, a.row_stride}, inner, rows);
      else
        load_tile<kThreads, kRows, kStep>(of_a, kStride, a, rows, inner);
      load_tile<kThreads, kStep, kColumns>(of_b, kValueStride, b, inner, columns);
      commit_async();
      wait_async<0>();
      __syncthreads();
      if constexpr (kDown)
        Fragment::template products<kStep, true>(sums, of_a, kDownStride, of_b, kValueStride);
      else
        Fragment::template products<kStep>(sums, of_a, kStride, of_b, kValueStride);
      a.data += kStep * a.column_stride;
      b = rows_after(b, kStep);
    }
  }
  __device__ __forceinline__ static MatrixView<const float> rows_after(MatrixView<const float> x, int64_t rows) {
    x.data += rows * x.row_stride;
    return x;
  }
  template <typename X>
  __device__ __forceinline__ static SplitRows<const X> rows_after(SplitRows<const X> x, int64_t rows) {
    x.first += rows;
    return x;
  }
};

// dx of the chunk from its groups, one element per thread.
template <int kThreads, typename Label, typename X>
__device__ __forceinline__ void sum_dx(const LossProblem<Label, X>& p, int64_t groups) {
  const int64_t chunk = p.first_row(), at = int64_t{blockIdx.x} * kThreads + thread_index();
  const int64_t r = at / p.depth, column = at % p.depth;
  if (r >= p.rows_of_chunk(chunk)) return;
  float sum = 0;
  for (int64_t group = 0; group < groups; ++group)
    sum = sum + load(p.partial_dx, (group * p.chunk_rows + r) * p.depth + column);
  X element;
  narrow(sum, element);
  store(p.dx.at(chunk + r), column * p.dx_column_stride, element);
}

}  // namespace stepc_device
