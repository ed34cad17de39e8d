#pragma once

#include "codegen/cuda/device/contraction.cuh"

// f32 products by fused multiply-adds, kM x kN elements of C per block. Tiles of A and B lie in shared memory with the
// depth outermost, twice: while one pair is multiplied the next is copied. A thread keeps kRows x kColumns sums, in
// groups of 4 x 4 so that a warp reads 4 rows and 8 columns of groups, each 16 bytes: no two lanes meet in a bank.
// Every element is summed in the order of the depth, one multiply-add after the other: tiles do not show in its bits.
namespace stepc_device {

template <int kTileM, int kTileN, int kTileDepth, int kThreadRows, int kThreadColumns>
struct ProductTile {
  static constexpr int kM = kTileM, kN = kTileN, kDepth = kTileDepth, kRows = kThreadRows, kColumns = kThreadColumns;
  static constexpr int kThreads = kM / kRows * (kN / kColumns);
  static constexpr int kWarpsN = kN / (8 * kColumns);
  // The pad keeps rows 16 bytes aligned and copies along the depth off one bank.
  static constexpr int kPitchA = kM + 4, kPitchB = kN + 4;
  static constexpr int kStage = kDepth * (kPitchA + kPitchB);  // floats; the block has two stages
  static_assert(kM % (4 * kRows) == 0 && kN % (8 * kColumns) == 0 && kRows % 4 == 0 && kColumns % 4 == 0,
                "whole warps");
};

// Copies the operand's kOuter x kDepth tile at (outer, depth) so that (o, d) lies at d·kPitch + o, with zeros outside.
// kAlongDepth: neighbouring threads take neighbours in depth, else in outer.
template <int kOuter, int kDepth, int kPitch, int kThreads, bool kAlongDepth, typename Operand>
__device__ __forceinline__ void copy_tile(const Operand& operand, float* shared, int64_t outer, int64_t depth) {
  if (operand.vectors && !kAlongDepth) {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x) * 4; i < kOuter * kDepth; i += kThreads * 4) {
      const int o = i % kOuter, d = i / kOuter;
      float* const to = shared + d * kPitch + o;
      const int64_t place = operand.place(outer + o, depth + d);
      if (place != kOutside)
        copy_async<16>(to, operand.data + place);
      else
        shared_store_vector<4>(to, 0, Vector<float, 4>{});
    }
    return;
  }
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kOuter * kDepth; i += kThreads) {
    const int o = kAlongDepth ? i / kDepth : i % kOuter, d = kAlongDepth ? i % kDepth : i / kOuter;
    float* const to = shared + d * kPitch + o;
    const int64_t place = operand.place(outer + o, depth + d);
    if (place != kOutside)
      copy_async<4>(to, operand.data + place);
    else
      shared_store(to, 0, 0.0F);
  }
}

// The sums of a thread.
template <typename Tile>
struct ThreadSums {
  float at[Tile::kRows][Tile::kColumns] = {};

  // Where the thread's groups of 4 rows and of 4 columns begin: group g at 4·lanes·g, `lanes` being those of the block.
  static __device__ __forceinline__ int row(int group) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    return group * (4 * Tile::kM / Tile::kRows) + (warp / Tile::kWarpsN * 4 + lane / 8) * 4;
  }
  static __device__ __forceinline__ int column(int group) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    return group * (4 * Tile::kN / Tile::kColumns) + (warp % Tile::kWarpsN * 8 + lane % 8) * 4;
  }

  __device__ __forceinline__ void add_stage(const float* a, const float* b) {
#pragma unroll
    for (int d = 0; d < Tile::kDepth; ++d) {
      float rows[Tile::kRows], columns[Tile::kColumns];
#pragma unroll
      for (int group = 0; group < Tile::kRows / 4; ++group) {
        const Vector<float, 4> four = shared_load_vector<4>(a, d * Tile::kPitchA + row(group));
#pragma unroll
        for (int i = 0; i < 4; ++i) rows[4 * group + i] = four[i];
      }
#pragma unroll
      for (int group = 0; group < Tile::kColumns / 4; ++group) {
        const Vector<float, 4> four = shared_load_vector<4>(b, d * Tile::kPitchB + column(group));
#pragma unroll
        for (int i = 0; i < 4; ++i) columns[4 * group + i] = four[i];
      }
#pragma unroll
      for (int i = 0; i < Tile::kRows; ++i)
#pragma unroll
        for (int j = 0; j < Tile::kColumns; ++j) at[i][j] = __fmaf_rn(rows[i], columns[j], at[i][j]);
    }
  }
};

// The tile at (row, column) of Σ parts A·B. An operand has of_part, place, data and vectors, as
// StridedOperand does; put(row, column, float[4]) is called for every group of 4 columns.
template <typename Tile, bool kAAlongDepth, bool kBAlongDepth, typename A, typename B, typename Put>
__device__ __forceinline__ void multiply_tiles(float* shared, const A& a, const B& b, int64_t parts, int64_t depth,
                                               int64_t row, int64_t column, const Put& put) {
  const int64_t steps_of_part = (depth + Tile::kDepth - 1) / Tile::kDepth;
  const int64_t steps = parts * steps_of_part;
  const auto copy = [&](int64_t step) {
    const int64_t part = step / steps_of_part, at = step % steps_of_part * Tile::kDepth;
    float* const stage = shared + step % 2 * Tile::kStage;
    copy_tile<Tile::kM, Tile::kDepth, Tile::kPitchA, Tile::kThreads, kAAlongDepth>(a.of_part(part), stage, row, at);
    copy_tile<Tile::kN, Tile::kDepth, Tile::kPitchB, Tile::kThreads, kBAlongDepth>(
        b.of_part(part), stage + Tile::kDepth * Tile::kPitchA, column, at);
    commit_async();
  };
  ThreadSums<Tile> sums;
  copy(0);
  for (int64_t step = 0; step < steps; ++step) {
    wait_async<0>();
    __syncthreads();  // this stage is there, and the other one has been read
    if (step + 1 < steps) copy(step + 1);
    const float* const stage = shared + step % 2 * Tile::kStage;
    sums.add_stage(stage, stage + Tile::kDepth * Tile::kPitchA);
  }
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i)
#pragma unroll
    for (int group = 0; group < Tile::kColumns / 4; ++group) {
      float four[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) four[j] = sums.at[i][4 * group + j];
      put(row + sums.row(i / 4) + i % 4, column + sums.column(group), four);
    }
}

// One tile of an f32 contraction. kA, kB, kC: the strides allow vectors of 16 bytes where the data is aligned.
template <typename Tile, bool kAAlongDepth, bool kBAlongDepth, bool kA, bool kB, bool kC, int kBatchAxes, int kSumAxes,
          int kAddends>
__device__ __forceinline__ void contract_tiles(unsigned char* shared,
                                               const Contraction<kBatchAxes, kSumAxes, kAddends>& work, const float* a,
                                               const float* b, float* c, const float* const* addends) {
  const TilePlace place(blockIdx.x, work.m, work.n, Tile::kM, Tile::kN);
  ContractionPoint<float, float, float, kBatchAxes, kSumAxes, kAddends> point(work, place.point, a, b, c, addends);
  point.a.vectors = kA && is_aligned<16>(point.a.data);
  point.b.vectors = kB && is_aligned<16>(point.b.data);
  const bool vectors = kC && is_aligned<16>(point.store.c);
  multiply_tiles<Tile, kAAlongDepth, kBAlongDepth>(
      reinterpret_cast<float*>(shared), point.a, point.b, work.parts(), work.k, place.row, place.column,
      [&](int64_t row, int64_t column, const float(&sums)[4]) { point.store.put(row, column, sums, vectors); });
}

}  // namespace stepc_device
