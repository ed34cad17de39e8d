#pragma once

#include "codegen/cuda/device/half.cuh"
#include "codegen/cuda/device/memory.cuh"

// What the forms of a contraction share: C = A·B + Σ addends for every point of a batch, summed over parts
// (ir/kernel.h, MatmulWork). The generated text writes one Contraction with constants; everything is inlined into it.
namespace stepc_device {

// What products of elements of a type are summed in: f32 for 16-bit floats too; integers wrap as 64 bits do.
template <typename T>
struct Accumulator {
  using Type = uint64_t;
};
template <>
struct Accumulator<float> {
  using Type = float;
};
template <>
struct Accumulator<double> {
  using Type = double;
};
template <>
struct Accumulator<bfloat16> {
  using Type = float;
};
template <>
struct Accumulator<half> {
  using Type = float;
};
template <typename T>
using AccumulatorOf = typename Accumulator<T>::Type;

template <typename T>
__device__ __forceinline__ AccumulatorOf<T> as_sum(T value) {
  return static_cast<AccumulatorOf<T>>(value);
}
__device__ __forceinline__ float as_sum(bfloat16 value) { return to_f32(value); }
__device__ __forceinline__ float as_sum(half value) { return to_f32(value); }

template <typename T>
__device__ __forceinline__ T from_sum(AccumulatorOf<T> sum) {
  return static_cast<T>(sum);
}
template <>
__device__ __forceinline__ bfloat16 from_sum<bfloat16>(float sum) {
  return to_bf16(sum);
}
template <>
__device__ __forceinline__ half from_sum<half>(float sum) {
  return to_f16(sum);
}

__device__ __forceinline__ float multiply_add(float a, float b, float sum) { return __fmaf_rn(a, b, sum); }
__device__ __forceinline__ double multiply_add(double a, double b, double sum) { return __fma_rn(a, b, sum); }
__device__ __forceinline__ uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t sum) { return a * b + sum; }

// An axis of the batch, or of the parts that a product is summed over, with its strides in elements.
struct ContractionAxis {
  int64_t extent, a, b, c;
};

template <int kBatchAxes>
struct ContractionAddend {
  int64_t m, n;  // strides; 0 where it is broadcast
  int64_t batch[kBatchAxes > 0 ? kBatchAxes : 1];
};

template <int kBatchAxes, int kSumAxes, int kAddends>
struct Contraction {
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n;
  ContractionAxis batch[kBatchAxes > 0 ? kBatchAxes : 1];
  ContractionAxis sums[kSumAxes > 0 ? kSumAxes : 1];
  ContractionAddend<kBatchAxes> addends[kAddends > 0 ? kAddends : 1];

  __device__ __forceinline__ int64_t points() const {
    int64_t count = 1;
#pragma unroll
    for (int i = 0; i < kBatchAxes; ++i) count *= batch[i].extent;
    return count;
  }
  __device__ __forceinline__ int64_t parts() const {
    int64_t count = 1;
#pragma unroll
    for (int i = 0; i < kSumAxes; ++i) count *= sums[i].extent;
    return count;
  }
};

// No element: read as zero.
constexpr int64_t kOutside = INT64_MIN;

// Element (outer, depth) of one operand, `outer` being a row of A or a column of B, for one point of the batch.
// Both operands of a product have one of these, so that one core serves A and B and either orientation.
template <typename T, int kSumAxes>
struct StridedOperand {
  const T* data;
  int64_t outer, depth;
  int64_t outer_stride, depth_stride;
  int64_t part_extents[kSumAxes > 0 ? kSumAxes : 1];
  int64_t part_strides[kSumAxes > 0 ? kSumAxes : 1];
  bool vectors;  // 16 bytes along the unit stride are aligned and wholly inside or wholly outside

  __device__ __forceinline__ StridedOperand of_part(int64_t part) const {
    StridedOperand result = *this;
#pragma unroll
    for (int i = kSumAxes - 1; i >= 0; --i) {
      result.data += part % part_extents[i] * part_strides[i];
      part /= part_extents[i];
    }
    return result;
  }
  // Whether all elements before (row, at_depth) exist: then `offset` is enough.
  __device__ __forceinline__ bool holds(int64_t row, int64_t at_depth) const {
    return row <= outer && at_depth <= depth;
  }
  __device__ __forceinline__ int64_t offset(int64_t row, int64_t at_depth) const {
    return row * outer_stride + at_depth * depth_stride;
  }
  __device__ __forceinline__ int64_t place(int64_t row, int64_t at_depth) const {
    return row < outer && at_depth < depth ? offset(row, at_depth) : kOutside;
  }
};

// Takes sums to C: rounds as the contraction and each addition after it would on their own, so that fusing changes no
// bit.
template <typename T, int kAddends>
struct ProductStore {
  using Sum = AccumulatorOf<T>;
  T* c;
  int64_t m, n, c_m, c_n;
  const T* addends[kAddends > 0 ? kAddends : 1];
  int64_t addend_m[kAddends > 0 ? kAddends : 1];
  int64_t addend_n[kAddends > 0 ? kAddends : 1];

  __device__ __forceinline__ T finished(Sum sum, int64_t row, int64_t column) const {
    T value = from_sum<T>(sum);
#pragma unroll
    for (int i = 0; i < kAddends; ++i) {
      const T addend = load(addends[i], row * addend_m[i] + column * addend_n[i]);
      value = from_sum<T>(as_sum(value) + as_sum(addend));
    }
    return value;
  }
  // Elements (row, column) to (row, column + kCount - 1), those that exist. `vectors`: rows of C start at multiples of
  // kCount elements in memory and have a multiple of them.
  template <int kCount>
  __device__ __forceinline__ void put(int64_t row, int64_t column, const Sum (&sums)[kCount], bool vectors) const {
    if (row >= m || column >= n) return;
    if (vectors) {
      Vector<T, kCount> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) out[i] = finished(sums[i], row, column + i);
      store_vector<kCount>(c, row * c_m + column, out);
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (column + i < n) store(c, row * c_m + (column + i) * c_n, finished(sums[i], row, column + i));
  }
};

// A contraction at one point of its batch.
template <typename A, typename B, typename C, int kBatchAxes, int kSumAxes, int kAddends>
struct ContractionPoint {
  StridedOperand<A, kSumAxes> a;
  StridedOperand<B, kSumAxes> b;
  ProductStore<C, kAddends> store;

  __device__ __forceinline__ ContractionPoint(const Contraction<kBatchAxes, kSumAxes, kAddends>& work, int64_t point,
                                              const A* a_data, const B* b_data, C* c_data, const C* const* addends) {
    a = {a_data, work.m, work.k, work.a_m, work.a_k, {}, {}, false};
    b = {b_data, work.n, work.k, work.b_n, work.b_k, {}, {}, false};
    store.c = c_data, store.m = work.m, store.n = work.n, store.c_m = work.c_m, store.c_n = work.c_n;
#pragma unroll
    for (int i = 0; i < kSumAxes; ++i) {
      a.part_extents[i] = b.part_extents[i] = work.sums[i].extent;
      a.part_strides[i] = work.sums[i].a;
      b.part_strides[i] = work.sums[i].b;
    }
#pragma unroll
    for (int i = 0; i < kAddends; ++i) {
      store.addends[i] = addends[i];
      store.addend_m[i] = work.addends[i].m;
      store.addend_n[i] = work.addends[i].n;
    }
#pragma unroll
    for (int axis = kBatchAxes - 1; axis >= 0; --axis) {
      const int64_t at = point % work.batch[axis].extent;
      point /= work.batch[axis].extent;
      a.data += at * work.batch[axis].a;
      b.data += at * work.batch[axis].b;
      store.c += at * work.batch[axis].c;
#pragma unroll
      for (int i = 0; i < kAddends; ++i) store.addends[i] += at * work.addends[i].batch[axis];
    }
  }
};

// The tiles along the depth of a product that is summed over parts: `step` counts those of all parts.
struct DepthSteps {
  int64_t of_part, count;
  int tile_depth;
  bool one_part;

  __device__ __forceinline__ DepthSteps(int64_t parts, int64_t depth, int tile)
      : of_part((depth + tile - 1) / tile), count(parts * of_part), tile_depth(tile), one_part(parts == 1) {}
  __device__ __forceinline__ int64_t part(int64_t step) const { return one_part ? 0 : step / of_part; }
  __device__ __forceinline__ int64_t depth(int64_t step) const {
    return (one_part ? step : step % of_part) * tile_depth;
  }
};

// Which tile of which point of the batch a block computes. Tiles go by bands of 8 rows of tiles, column by column in a
// band, so that blocks that run together share operands in the cache.
struct TilePlace {
  int64_t point, row, column;  // row and column of the tile's first element

  __device__ __forceinline__ TilePlace(int64_t block, int64_t m, int64_t n, int tile_m, int tile_n) {
    constexpr int64_t kBand = 8;
    const int64_t rows = (m + tile_m - 1) / tile_m, columns = (n + tile_n - 1) / tile_n;
    point = block / (rows * columns);
    const int64_t tile = block % (rows * columns);
    const int64_t first = tile / (kBand * columns) * kBand;
    const int64_t height = rows - first < kBand ? rows - first : kBand;
    const int64_t within = tile - first * columns;
    row = (first + within % height) * tile_m;
    column = within / height * tile_n;
  }
};

}  // namespace stepc_device
