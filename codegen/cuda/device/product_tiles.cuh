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

// An operand's kOuter x kDepth tile in shared memory, (o, d) at d·kPitch + o. kAlongDepth: neighbouring threads copy
// neighbours in depth, else in outer.
template <int kOuter, int kDepth, int kThreads, bool kAlongDepth>
struct OperandTile {
  static constexpr int kPitch = kOuter + 4;

  // The tile at (outer, depth), with zeros outside.
  template <typename Operand>
  static __device__ __forceinline__ void copy(const Operand& operand, float* shared, int64_t outer, int64_t depth) {
    const bool whole = operand.holds(outer + kOuter, depth + kDepth);
    if (operand.vectors && !kAlongDepth)
      whole ? copy_by<4, true>(operand, shared, outer, depth) : copy_by<4, false>(operand, shared, outer, depth);
    else
      whole ? copy_by<1, true>(operand, shared, outer, depth) : copy_by<1, false>(operand, shared, outer, depth);
  }

 private:
  // kWidth elements at a time.
  template <int kWidth, bool kWhole, typename Operand>
  static __device__ __forceinline__ void copy_by(const Operand& operand, float* shared, int64_t outer, int64_t depth) {
    constexpr int kLine = (kAlongDepth ? kDepth : kOuter) / kWidth;
    constexpr int kCopies = kOuter * kDepth / kWidth / kThreads;  // of a thread: one place in every kLinesApart-th line
    constexpr int kLinesApart = kThreads / kLine;
    static_assert(kThreads % kLine == 0 && kCopies * kThreads * kWidth == kOuter * kDepth, "the same for every thread");
    const int at = static_cast<int>(threadIdx.x) % kLine * kWidth, first = static_cast<int>(threadIdx.x) / kLine;
#pragma unroll(kWhole ? kCopies : 1)
    for (int i = 0; i < kCopies; ++i) {
      const int line = first + i * kLinesApart;
      const int o = kAlongDepth ? line : at, d = kAlongDepth ? at : line;
      float* const to = shared + d * kPitch + o;
      const int64_t place = kWhole ? operand.offset(outer + o, depth + d) : operand.place(outer + o, depth + d);
      if (kWhole || place != kOutside)
        copy_async<4 * kWidth>(to, operand.data + place);
      else
        shared_store_vector<kWidth>(to, 0, Vector<float, kWidth>{});
    }
  }
};

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

  // 8 depths at a time, 512 multiply-adds of the largest tile: enough to hide the loads between, and half the time
  // to compile of a whole stage.
  __device__ __forceinline__ void add_stage(const float* a, const float* b) {
#pragma unroll 8
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

// The tile at (row, column) of Σ parts A·B. An operand has the members that these call, as StridedOperand does;
// put(row, column, float[4]) is called for every group of 4 columns.
template <typename Tile, bool kAAlongDepth, bool kBAlongDepth, typename A, typename B, typename Put>
__device__ __forceinline__ void multiply_tiles(float* shared, const A& a, const B& b, int64_t parts, int64_t depth,
                                               int64_t row, int64_t column, const Put& put) {
  using TileA = OperandTile<Tile::kM, Tile::kDepth, Tile::kThreads, kAAlongDepth>;
  using TileB = OperandTile<Tile::kN, Tile::kDepth, Tile::kThreads, kBAlongDepth>;
  const DepthSteps steps(parts, depth, Tile::kDepth);
  const auto copy = [&](int64_t step, float* stage) {
    const int64_t part = steps.part(step), at = steps.depth(step);
    TileA::copy(a.of_part(part), stage, row, at);
    TileB::copy(b.of_part(part), stage + Tile::kDepth * Tile::kPitchA, column, at);
    commit_async();
  };
  ThreadSums<Tile> sums;
  // Copies tile `step` while the one before it is multiplied.
#pragma unroll 1
  for (int64_t step = 0; step <= steps.count; ++step) {
    wait_async<0>();
    __syncthreads();  // the tile before is there, and where this one goes has been read
    float* const there = shared + (step % 2 == 0 ? Tile::kStage : 0);
    if (step < steps.count) copy(step, shared + (step % 2 == 0 ? 0 : Tile::kStage));
    if (step > 0) sums.add_stage(there, there + Tile::kDepth * Tile::kPitchA);
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
