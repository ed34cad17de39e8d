#pragma once

#include "codegen/cuda/device/contraction.cuh"

// Products without tiles: any dtypes, and results of a few rows.
namespace stepc_device {

// One element of C per thread, neighbours along n, summed in the order of the depth.
template <int kThreads, typename A, typename B, typename C, int kBatchAxes, int kSumAxes, int kAddends>
__device__ __forceinline__ void contract_plain(const Contraction<kBatchAxes, kSumAxes, kAddends>& work, const A* a,
                                               const B* b, C* c, const C* const* addends) {
  const int64_t element = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= work.points() * work.m * work.n) return;
  const int64_t column = element % work.n, row = element / work.n % work.m;
  const ContractionPoint<A, B, C, kBatchAxes, kSumAxes, kAddends> point(work, element / work.n / work.m, a, b, c,
                                                                        addends);
  AccumulatorOf<C> sum[1] = {};
  for (int64_t part = 0; part < work.parts(); ++part) {
    const auto left = point.a.of_part(part);
    const auto right = point.b.of_part(part);
    for (int64_t d = 0; d < work.k; ++d)
      sum[0] = multiply_add(static_cast<AccumulatorOf<C>>(as_sum(load(left.data, left.place(row, d)))),
                            static_cast<AccumulatorOf<C>>(as_sum(load(right.data, right.place(column, d)))), sum[0]);
  }
  point.store.put(row, column, sum, false);
}

// All kRows rows of 32 columns of C per block. The depth is dealt to 8 warps in runs of 32, round robin, each summed in
// order; a lane has a column; the sums of the warps are added in their order.
template <int kRows, typename A, typename B, typename C, int kBatchAxes, int kSumAxes, int kAddends>
__device__ __forceinline__ void contract_thin(const Contraction<kBatchAxes, kSumAxes, kAddends>& work, const A* a,
                                              const B* b, C* c, const C* const* addends) {
  constexpr int kWarps = 8, kRun = 32, kWidth = 32;
  using Sum = AccumulatorOf<C>;
  __shared__ Sum partial[kWarps * kRows * kWidth];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const TilePlace place(blockIdx.x, 1, work.n, 1, kWidth);
  const ContractionPoint<A, B, C, kBatchAxes, kSumAxes, kAddends> point(work, place.point, a, b, c, addends);
  const int64_t column = place.column + lane;

  Sum sums[kRows] = {};
  for (int64_t part = 0; part < work.parts() && column < work.n; ++part) {
    const auto left = point.a.of_part(part);
    const auto right = point.b.of_part(part);
    for (int64_t run = static_cast<int64_t>(warp) * kRun; run < work.k; run += kWarps * kRun)
#pragma unroll 4
      for (int64_t d = run; d < (run + kRun < work.k ? run + kRun : work.k); ++d) {
        const Sum factor = static_cast<Sum>(as_sum(load(right.data, right.place(column, d))));
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          sums[i] = multiply_add(static_cast<Sum>(as_sum(load(left.data, left.place(i, d)))), factor, sums[i]);
      }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) shared_store(partial, (warp * kRows + i) * kWidth + lane, sums[i]);
  __syncthreads();
  for (int row = warp; row < kRows; row += kWarps) {
    Sum sum[1] = {shared_load(partial, row * kWidth + lane)};
#pragma unroll
    for (int other = 1; other < kWarps; ++other) sum[0] += shared_load(partial, (other * kRows + row) * kWidth + lane);
    point.store.put(row, column, sum, false);
  }
}

}  // namespace stepc_device
