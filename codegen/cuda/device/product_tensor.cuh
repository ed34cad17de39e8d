#pragma once

#include "codegen/cuda/device/contraction.cuh"
#include "codegen/cuda/device/mma.cuh"

// bf16, f16 and TF32 products on tensor cores, kM x kN elements of C per block, f32 sums. A tile lies in shared memory
// as its operand does in global memory, the unit stride innermost, in chunks of 16 bytes; which of its row's places a
// chunk takes depends on the row, so that the rows that a warp reads at once lie in different banks. A ring of stages
// keeps copies ahead of the products. The depth goes in steps of 32 bytes, in order: tiles do not show in the bits.
// TF32 operands are f32 in memory and are rounded on their way into registers.
namespace stepc_device {

template <int kTileM, int kTileN, int kTileDepth, int kBlockWarpsM, int kBlockWarpsN, int kRing>
struct TensorTile {
  static constexpr int kM = kTileM, kN = kTileN, kDepth = kTileDepth, kStages = kRing;
  static constexpr int kWarpsN = kBlockWarpsN, kThreads = 32 * kBlockWarpsM * kBlockWarpsN;
  static constexpr int kWarpM = kM / kBlockWarpsM, kWarpN = kN / kBlockWarpsN;
  static constexpr int kStage = (kM + kN) * kDepth;  // elements
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0 && kDepth % 16 == 0, "whole fragments");
};

template <typename T>
constexpr int kOfChunk = 16 / sizeof(T);  // elements

// One operand's tile: kOuter rows of A, or columns of B, by kDepth. kAlongDepth: the depth is innermost.
template <typename T, int kOuter, int kDepth, bool kAlongDepth>
struct TensorOperandTile {
  static constexpr int kChunk = kOfChunk<T>;
  static constexpr int kRows = kAlongDepth ? kOuter : kDepth, kChunks = (kAlongDepth ? kDepth : kOuter) / kChunk;
  // ldmatrix reads 8 rows of one chunk at once, and transposes 16-bit elements; of f32 the lanes read 4 rows of two
  // neighbouring chunks.
  static constexpr bool kByMatrices = kAlongDepth || sizeof(T) == 2;

  // Where chunk `chunk` of row `row` lies, in elements; a row has a power of two of them.
  static __device__ __forceinline__ int place(int row, int chunk) {
    constexpr int kRowsOfBanks = kChunks < 8 ? 8 / kChunks : 1;  // rows in 128 bytes, all banks once
    const int turn = kByMatrices ? row / kRowsOfBanks % (kChunks < 8 ? kChunks : 8) : row % 4 * 2;
    return (row * kChunks + (chunk ^ turn)) * kChunk;
  }

  // Copies the tile at (outer, depth), with zeros outside the operand.
  template <int kThreads, typename Operand>
  static __device__ __forceinline__ void copy(const Operand& operand, T* shared, int64_t outer, int64_t depth) {
    if (!operand.vectors)
      copy_elements<kThreads>(operand, shared, outer, depth);
    else if (operand.holds(outer + kOuter, depth + kDepth))
      copy_chunks<kThreads, true>(operand, shared, outer, depth);
    else
      copy_chunks<kThreads, false>(operand, shared, outer, depth);
  }

  template <int kThreads, bool kWhole, typename Operand>
  static __device__ __forceinline__ void copy_chunks(const Operand& operand, T* shared, int64_t outer, int64_t depth) {
    constexpr int kCopies = kRows * kChunks / kThreads, kRowsApart = kThreads / kChunks;  // of a thread
    static_assert(kThreads % kChunks == 0 && kCopies * kThreads == kRows * kChunks, "the same for every thread");
    const int chunk = static_cast<int>(threadIdx.x) % kChunks, first = static_cast<int>(threadIdx.x) / kChunks;
#pragma unroll(kWhole ? kCopies : 1)
    for (int i = 0; i < kCopies; ++i) {
      const int row = first + i * kRowsApart;
      const int at = chunk * kChunk;
      const int64_t o = outer + (kAlongDepth ? row : at), d = depth + (kAlongDepth ? at : row);
      T* const to = shared + place(row, chunk);
      const int64_t from = kWhole ? operand.offset(o, d) : operand.place(o, d);
      if (kWhole || from != kOutside)
        copy_async<16>(to, operand.data + from);
      else
        shared_store_vector<kChunk>(to, 0, Vector<T, kChunk>{});
    }
  }

  template <int kThreads, typename Operand>
  static __device__ __forceinline__ void copy_elements(const Operand& operand, T* shared, int64_t outer,
                                                       int64_t depth) {
    constexpr int kColumns = kChunks * kChunk;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kColumns; i += kThreads) {
      const int row = i / kColumns, column = i % kColumns;
      const int64_t from = operand.place(outer + (kAlongDepth ? row : column), depth + (kAlongDepth ? column : row));
      shared_store(shared, place(row, column / kChunk) + column % kChunk,
                   from != kOutside ? load(operand.data, from) : T{});
    }
  }

  // The four matrices of 8 outer by a chunk of depth at (outer, depth), (outer + 8, depth), (outer, depth + kChunk),
  // (outer + 8, depth + kChunk); with kDepthFirst the second and third change places. Pairs of a lane lie along the
  // depth.
  template <bool kDepthFirst>
  static __device__ __forceinline__ void load_fragment(unsigned (&fragment)[4], const T* shared, int outer, int depth) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto o_of = [](int matrix) { return kDepthFirst ? matrix / 2 : matrix % 2; };
    const auto d_of = [](int matrix) { return kDepthFirst ? matrix % 2 : matrix / 2; };
    if constexpr (kByMatrices) {
      const int matrix = lane / 8, o = o_of(matrix), d = d_of(matrix);
      const int row = kAlongDepth ? outer + 8 * o + lane % 8 : depth + 8 * d + lane % 8;
      const int chunk = kAlongDepth ? depth / kChunk + d : outer / 8 + o;
      load_matrices<4, !kAlongDepth>(fragment, shared + place(row, chunk));
    } else {
#pragma unroll
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int row = depth + 4 * d_of(matrix) + lane % 4, column = outer + 8 * o_of(matrix) + lane / 4;
        fragment[matrix] = __float_as_uint(shared_load(shared, place(row, column / 4) + column % 4));
      }
    }
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) fragment[i] = to_tf32(__uint_as_float(fragment[i]));
    }
  }
};

__device__ __forceinline__ void tensor_multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                    bfloat16) {
  mma_bf16(d, a, b);
}
__device__ __forceinline__ void tensor_multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                    half) {
  mma_f16(d, a, b);
}
__device__ __forceinline__ void tensor_multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                    float) {
  mma_tf32(d, a, b);
}

// The sums of a warp: fragments of 16 rows by 8 columns.
template <typename Tile>
struct WarpSums {
  static constexpr int kFragmentsM = Tile::kWarpM / 16, kFragmentsN = Tile::kWarpN / 8;
  float at[kFragmentsM][kFragmentsN][4] = {};

  static __device__ __forceinline__ int row() {
    return static_cast<int>(threadIdx.x / 32) / Tile::kWarpsN * Tile::kWarpM;
  }
  static __device__ __forceinline__ int column() {
    return static_cast<int>(threadIdx.x / 32) % Tile::kWarpsN * Tile::kWarpN;
  }

  template <typename TileA, typename TileB, typename T>
  __device__ __forceinline__ void add_stage(const T* a, const T* b) {
#pragma unroll
    for (int depth = 0; depth < Tile::kDepth; depth += 2 * kOfChunk<T>) {
      unsigned rows[kFragmentsM][4], columns[kFragmentsN / 2][4];
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i) TileA::template load_fragment<false>(rows[i], a, row() + 16 * i, depth);
#pragma unroll
      for (int j = 0; j < kFragmentsN / 2; ++j)
        TileB::template load_fragment<true>(columns[j], b, column() + 16 * j, depth);
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j) {
          const unsigned pair[2] = {columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1]};
          tensor_multiply_add(at[i][j], rows[i], pair, T{});
        }
    }
  }
};

// One tile of a contraction, in TF32 where the operands are f32. kA, kB, kC: the strides allow vectors (16 bytes of an
// operand, two elements of C) where the data is aligned.
template <typename Tile, bool kAAlongDepth, bool kBAlongDepth, bool kA, bool kB, bool kC, typename T, typename C,
          int kBatchAxes, int kSumAxes, int kAddends>
__device__ __forceinline__ void contract_tensor(unsigned char* arena,
                                                const Contraction<kBatchAxes, kSumAxes, kAddends>& work, const T* a,
                                                const T* b, C* c, const C* const* addends) {
  using TileA = TensorOperandTile<T, Tile::kM, Tile::kDepth, kAAlongDepth>;
  using TileB = TensorOperandTile<T, Tile::kN, Tile::kDepth, kBAlongDepth>;
  const TilePlace place(blockIdx.x, work.m, work.n, Tile::kM, Tile::kN);
  ContractionPoint<T, T, C, kBatchAxes, kSumAxes, kAddends> point(work, place.point, a, b, c, addends);
  point.a.vectors = kA && is_aligned<16>(point.a.data);
  point.b.vectors = kB && is_aligned<16>(point.b.data);
  const bool vectors = kC && is_aligned<2 * sizeof(C)>(point.store.c);

  T* const shared = reinterpret_cast<T*>(arena);
  const DepthSteps steps(work.parts(), work.k, Tile::kDepth);
  const auto copy = [&](int64_t step, int slot) {
    if (step < steps.count) {
      const int64_t part = steps.part(step), at = steps.depth(step);
      T* const stage = shared + slot * Tile::kStage;
      TileA::template copy<Tile::kThreads>(point.a.of_part(part), stage, place.row, at);
      TileB::template copy<Tile::kThreads>(point.b.of_part(part), stage + Tile::kM * Tile::kDepth, place.column, at);
    }
    commit_async();
  };
  WarpSums<Tile> sums;
  for (int slot = 0; slot < Tile::kStages - 1; ++slot) copy(slot, slot);
  int slot = 0;
  for (int64_t step = 0; step < steps.count; ++step) {
    wait_async<Tile::kStages - 2>();
    __syncthreads();  // this stage is there, and the one before it has been read
    copy(step + Tile::kStages - 1, slot == 0 ? Tile::kStages - 1 : slot - 1);
    const T* const stage = shared + slot * Tile::kStage;
    sums.template add_stage<TileA, TileB>(stage, stage + Tile::kM * Tile::kDepth);
    slot = slot + 1 == Tile::kStages ? 0 : slot + 1;
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < sums.kFragmentsM; ++i)
#pragma unroll
    for (int j = 0; j < sums.kFragmentsN; ++j)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float two[2] = {sums.at[i][j][2 * part], sums.at[i][j][2 * part + 1]};
        point.store.put(place.row + sums.row() + 16 * i + 8 * part + lane / 4,
                        place.column + sums.column() + 8 * j + lane % 4 * 2, two, vectors);
      }
}

}  // namespace stepc_device
