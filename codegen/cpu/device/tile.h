#pragma once

#include "codegen/cpu/device/reduce.h"
#include "codegen/device/half.h"

// Matrices of a few thousand floats in cache, and their products: what attention is made of. A tile's rows are padded
// to whole lines, with an odd number of lines from one row to the next, so that no walk down a column keeps meeting the
// same set of the cache.
namespace stepc_device {

constexpr int64_t kTileLine = 16;  // floats in 64 bytes
constexpr int64_t tile_columns(int64_t columns) { return (columns + kTileLine - 1) / kTileLine * kTileLine; }
constexpr int64_t tile_stride(int64_t columns) { return (tile_columns(columns) / kTileLine | 1) * kTileLine; }

template <int64_t kTileRows, int64_t kTileColumns>
struct Tile {
  static constexpr int64_t kRows = kTileRows;
  static constexpr int64_t kColumns = tile_columns(kTileColumns);  // those after kTileColumns are padding
  static constexpr int64_t kStride = tile_stride(kTileColumns);

  float* row(int64_t r) { return values + r * kStride; }
  const float* row(int64_t r) const { return values + r * kStride; }
  void fill(float value) {
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < kColumns; ++c) row(r)[c] = value;
  }

  alignas(64) float values[kRows * kStride];
};

#if defined(__AVX512F__)
constexpr int64_t kTileLanes = 16;
#else
constexpr int64_t kTileLanes = 8;
#endif
typedef float TileVector __attribute__((vector_size(kTileLanes * sizeof(float))));

inline __attribute__((always_inline)) TileVector load_lanes(const float* x) {
  TileVector v;
  __builtin_memcpy(&v, x, sizeof(v));
  return v;
}
inline __attribute__((always_inline)) void store_lanes(float* x, TileVector v) { __builtin_memcpy(x, &v, sizeof(v)); }
// By name where the compiler has one: a loop of scalar fma does not reliably become one.
inline __attribute__((always_inline)) TileVector fma_lanes(float a, TileVector b, TileVector c) {
#if defined(__AVX512F__)
  return __builtin_ia32_vfmaddps512_mask(a - TileVector{}, b, c, -1, 4);
#elif defined(__FMA__)
  return __builtin_ia32_vfmaddps256(a - TileVector{}, b, c);
#else
  TileVector v;
  for (int64_t lane = 0; lane < kTileLanes; ++lane) v[lane] = __builtin_fmaf(a, b[lane], c[lane]);
  return v;
#endif
}

// c[r][:] ← (kAdd ? c[r][:] : 0) + Σ_k a[r][k]·b[k][:] for kRows rows and kVectors vectors of columns, which stay in
// registers: Goto and van de Geijn 2008. Every element is one chain of fma in the order of k, whatever the blocks.
template <int kRows, int kVectors, bool kAdd, int64_t kDepth, int64_t kRowOfA, int64_t kStepOfA, int64_t kStepOfB,
          int64_t kRowOfC>
inline __attribute__((always_inline)) void multiply_block(const float* a, const float* b, float* c) {
  TileVector sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = kAdd ? load_lanes(c + r * kRowOfC + v * kTileLanes) : TileVector{};
  for (int64_t k = 0; k < kDepth; ++k) {
    TileVector of_b[kVectors];
    for (int v = 0; v < kVectors; ++v) of_b[v] = load_lanes(b + k * kStepOfB + v * kTileLanes);
    for (int r = 0; r < kRows; ++r) {
      const float of_a = a[r * kRowOfA + k * kStepOfA];
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma_lanes(of_a, of_b[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) store_lanes(c + r * kRowOfC + v * kTileLanes, sum[r][v]);
}

// All rows of a strip of kVectors vectors of columns.
template <int kVectors, bool kAdd, int64_t kRows, int64_t kDepth, int64_t kRowOfA, int64_t kStepOfA, int64_t kStepOfB,
          int64_t kRowOfC>
inline void multiply_strip(const float* a, const float* b, float* c) {
  constexpr int kBlock = 6;  // with two vectors: 12 sums, 2 of b and 1 of a in 16 registers
  constexpr int64_t kWhole = kRows / kBlock * kBlock;
  for (int64_t r = 0; r < kWhole; r += kBlock)
    multiply_block<kBlock, kVectors, kAdd, kDepth, kRowOfA, kStepOfA, kStepOfB, kRowOfC>(a + r * kRowOfA, b,
                                                                                         c + r * kRowOfC);
  if constexpr (kWhole < kRows)
    multiply_block<static_cast<int>(kRows - kWhole), kVectors, kAdd, kDepth, kRowOfA, kStepOfA, kStepOfB, kRowOfC>(
        a + kWhole * kRowOfA, b, c + kWhole * kRowOfC);
}

template <bool kAdd, int64_t kRows, int64_t kColumns, int64_t kDepth, int64_t kRowOfA, int64_t kStepOfA,
          int64_t kStepOfB, int64_t kRowOfC>
inline void multiply_all(const float* a, const float* b, float* c) {
  constexpr int64_t kStrip = 2 * kTileLanes;
  constexpr int64_t kWhole = kColumns / kStrip * kStrip;
  for (int64_t x = 0; x < kWhole; x += kStrip)
    multiply_strip<2, kAdd, kRows, kDepth, kRowOfA, kStepOfA, kStepOfB, kRowOfC>(a, b + x, c + x);
  if constexpr (kWhole < kColumns)
    multiply_strip<1, kAdd, kRows, kDepth, kRowOfA, kStepOfA, kStepOfB, kRowOfC>(a, b + kWhole, c + kWhole);
}

// c ← (kAdd ? c : 0) + a·b, over the first kDepth columns of a.
template <bool kAdd, int64_t kDepth, typename A, typename B, typename C>
inline void multiply(const A& a, const B& b, C& c) {
  static_assert(A::kRows == C::kRows && A::kColumns >= kDepth && B::kRows >= kDepth && B::kColumns == C::kColumns,
                "shapes");
  multiply_all<kAdd, C::kRows, C::kColumns, kDepth, A::kStride, 1, B::kStride, C::kStride>(a.values, b.values,
                                                                                           c.values);
}

// c ← (kAdd ? c : 0) + aᵀ·b.
template <bool kAdd, typename A, typename B, typename C>
inline void multiply_transposed(const A& a, const B& b, C& c) {
  static_assert(A::kRows == B::kRows && A::kColumns >= C::kRows && B::kColumns == C::kColumns, "shapes");
  multiply_all<kAdd, C::kRows, C::kColumns, A::kRows, 1, A::kStride, B::kStride, C::kStride>(a.values, b.values,
                                                                                             c.values);
}

// Elements as they lie in memory; tiles hold f32.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
inline float widened(float x) { return x; }
inline float widened(Bf16 x) { return bf16_to_f32(x.bits); }
inline float widened(F16 x) { return f16_to_f32(x.bits); }
inline void narrow(float x, float& to) { to = x; }
inline void narrow(float x, Bf16& to) { to.bits = f32_to_bf16(x); }
inline void narrow(float x, F16& to) { to.bits = f32_to_f16(x); }

// A matrix in memory, strides in elements.
template <typename E>
struct MatrixView {
  E* data;
  int64_t row_stride, column_stride;
};

template <int64_t kColumns>
inline void copy_row(float* to, const float* from) {
  constexpr int64_t kWhole = kColumns / kTileLanes * kTileLanes;
  for (int64_t c = 0; c < kWhole; c += kTileLanes) store_lanes(to + c, load_lanes(from + c));
  for (int64_t c = kWhole; c < kColumns; ++c) to[c] = from[c];
}
template <int64_t kColumns, typename E>
inline void copy_row(float* to, const E* from) {
  for (int64_t c = 0; c < kColumns; ++c) to[c] = widened(from[c]);
}

// The first `rows` rows of kColumns elements; the rest of the tile is 0.
template <int64_t kColumns, typename T, typename E>
inline void load_tile(T& tile, const MatrixView<E>& from, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    float* const to = tile.row(r);
    const E* const x = from.data + r * from.row_stride;
    if (from.column_stride == 1)
      copy_row<kColumns>(to, x);
    else
      for (int64_t c = 0; c < kColumns; ++c) to[c] = widened(x[c * from.column_stride]);
    for (int64_t c = kColumns; c < T::kColumns; ++c) to[c] = 0;
  }
  for (int64_t r = rows; r < T::kRows; ++r)
    for (int64_t c = 0; c < T::kColumns; ++c) tile.row(r)[c] = 0;
}

// to ← (kAdd ? to : 0) + tile, over `rows` rows of kColumns elements.
template <bool kAdd, int64_t kColumns, typename T, typename E>
inline void store_tile(const MatrixView<E>& to, const T& tile, int64_t rows) {
  const auto put = [](float x, E& y) { narrow(kAdd ? widened(y) + x : x, y); };
  for (int64_t r = 0; r < rows; ++r) {
    E* const y = to.data + r * to.row_stride;
    const float* const x = tile.row(r);
    if (to.column_stride == 1)
      for (int64_t c = 0; c < kColumns; ++c) put(x[c], y[c]);
    else
      for (int64_t c = 0; c < kColumns; ++c) put(x[c], y[c * to.column_stride]);
  }
}

// Of 8 rows and 8 columns: pairs, then quadruples, then halves of rows change places.
inline __attribute__((always_inline)) void transpose_block(const float* x, int64_t x_stride, float* y,
                                                           int64_t y_stride) {
  typedef float Row __attribute__((vector_size(32)));
  Row a[8], b[8];
  for (int r = 0; r < 8; ++r) __builtin_memcpy(&a[r], x + r * x_stride, sizeof(Row));
  for (int r = 0; r < 8; r += 2) {
    b[r] = __builtin_shufflevector(a[r], a[r + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[r + 1] = __builtin_shufflevector(a[r], a[r + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int r = 0; r < 8; r += 4)
    for (int i = r; i < r + 2; ++i) {
      a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int r = 0; r < 4; ++r) {
    b[r] = __builtin_shufflevector(a[r], a[r + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[r + 4] = __builtin_shufflevector(a[r], a[r + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int r = 0; r < 8; ++r) __builtin_memcpy(y + r * y_stride, &b[r], sizeof(Row));
}

template <typename X, typename Y>
inline void transpose(const X& x, Y& y) {
  static_assert(X::kColumns == Y::kRows && Y::kColumns == X::kRows && X::kRows % 8 == 0, "shapes");
  for (int64_t r = 0; r < X::kRows; r += 8)
    for (int64_t c = 0; c < X::kColumns; c += 8) transpose_block(x.row(r) + c, X::kStride, y.row(c) + r, Y::kStride);
}

// Σ x·y in 16 lanes, joined by the tree of RowReduction.
template <int64_t kCount>
inline float dot(const float* x, const float* y) {
  float products[tile_columns(kCount)];
  for (int64_t i = 0; i < tile_columns(kCount); ++i) products[i] = i < kCount ? x[i] * y[i] : 0.0F;
  RowReduction<float, SumOf<float>> sum;
  sum.add(products, tile_columns(kCount));
  sum.end_segment();
  return sum.result();
}

// into[c] ← into[c] combined with every row's element c, from the first row on.
template <template <typename> class Op, typename T>
inline void combine_rows(const T& tile, float* into) {
  for (int64_t c = 0; c < T::kColumns; c += kTileLanes) {
    TileVector x = load_lanes(into + c);
    for (int64_t r = 0; r < T::kRows; ++r) x = Op<float>::combine(x, load_lanes(tile.row(r) + c));
    store_lanes(into + c, x);
  }
}

}  // namespace stepc_device
