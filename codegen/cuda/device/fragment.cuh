#pragma once

#include "codegen/cuda/device/half.cuh"
#include "codegen/cuda/device/memory.cuh"
#include "codegen/cuda/device/mma.cuh"

// Products of tiles in shared memory whose results stay in registers. A fragment says which elements of a result a
// thread holds: kRows rows of its warp's kWarpRows, neighbouring kRowLanes lanes sharing them, and columns that differ
// for the two products:
//   scores:  s[rows][columns] += a[rows][depth] · b[columns][depth]ᵀ
//   values:  o[rows][columns] += p[rows][inner] · v[inner][columns]    with p a result of `scores`
//   products: the same with p in shared memory
// Rows of a tile in shared memory are padded so that they begin an odd number of 16 bytes apart.
extern "C" {
extern __shared__ __align__(16) unsigned char stepc_shared[];
}

namespace stepc_device {

__device__ __forceinline__ float widened(float x) { return x; }
__device__ __forceinline__ float widened(bfloat16 x) { return to_f32(x); }
__device__ __forceinline__ float widened(half x) { return to_f32(x); }
__device__ __forceinline__ void narrow(float x, float& to) { to = x; }
__device__ __forceinline__ void narrow(float x, bfloat16& to) { to = to_bf16(x); }
__device__ __forceinline__ void narrow(float x, half& to) { to = to_f16(x); }

constexpr int kWarpLanes = 32;
__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int lane_index() { return thread_index() % kWarpLanes; }
__device__ __forceinline__ int warp_index() { return thread_index() / kWarpLanes; }

// Elements from one row of a tile to the next.
template <typename E>
__device__ constexpr int padded_stride(int columns) {
  constexpr int kUnit = 16 / static_cast<int>(sizeof(E));
  return ((columns + kUnit - 1) / kUnit | 1) * kUnit;
}

// f32 by fused multiply-add: every element is one chain in the order of the summed index. 4 rows by 8 lanes per warp.
template <int kRowsOfThread>
struct FmaFragment {
  typedef float Operand;
  static constexpr int kRows = kRowsOfThread;
  static constexpr int kWarpRows = 4 * kRows;
  static constexpr int kRowLanes = 8;
  static constexpr int kDepthUnit = 4;    // depths and inner extents are multiples of it
  static constexpr int kColumnUnit = 32;  // of values
  static constexpr int kRun = 4;          // columns of values that follow each other
  static constexpr bool kReadsDown = false;

  __device__ __forceinline__ static int row(int i) {
    return warp_index() * kWarpRows + lane_index() / kRowLanes + 4 * i;
  }
  __device__ __forceinline__ static int score_column(int j) { return lane_index() % kRowLanes + kRowLanes * j; }
  __device__ __forceinline__ static int value_column(int j) {
    return lane_index() % kRowLanes * kRun + j / kRun * kColumnUnit + j % kRun;
  }

  // What `values` wants for p.
  static __device__ constexpr int staging_stride(int inner) { return inner + 8; }
  static __device__ constexpr int staging_elements(int inner, int rows) { return rows * staging_stride(inner); }

  template <int kColumns>
  __device__ __forceinline__ static void scores(float (&s)[kRows][kColumns], const float* a, const float* b, int stride,
                                                int depth) {
    // 256 multiply-adds hide the loads of the next step; more only cost registers and the compiler's time.
#pragma unroll(kRows* kColumns < 64 ? 2 : 1)
    for (int k = 0; k < depth; k += 4) {
      Vector<float, 4> x[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) x[i] = shared_load_vector<4>(a, row(i) * stride + k);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const Vector<float, 4> y = shared_load_vector<4>(b, score_column(j) * stride + k);
#pragma unroll
        for (int i = 0; i < kRows; ++i)
#pragma unroll
          for (int e = 0; e < 4; ++e) s[i][j] = __fmaf_rn(x[i].values[e], y.values[e], s[i][j]);
      }
    }
  }

  // p goes through `staging`, of which a warp uses its own rows.
  template <int kInner, int kColumns>
  __device__ __forceinline__ static void values(float (&o)[kRows][kColumns], const float (&p)[kRows][kInner],
                                                float* staging, const float* v, int stride) {
    constexpr int kExtent = kInner * kRowLanes, kStride = staging_stride(kExtent);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kInner; ++j) shared_store(staging, row(i) * kStride + score_column(j), p[i][j]);
    __syncwarp();
    products<kExtent>(o, staging, kStride, v, stride);
  }

  // o += p·v, p[rows][kExtent] in shared memory.
  template <int kExtent, int kColumns>
  __device__ __forceinline__ static void products(float (&o)[kRows][kColumns], const float* p, int p_stride,
                                                  const float* v, int stride) {
#pragma unroll 1
    for (int k = 0; k < kExtent; k += 4) {
      Vector<float, 4> x[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) x[i] = shared_load_vector<4>(p, row(i) * p_stride + k);
#pragma unroll
      for (int e = 0; e < 4; ++e)
#pragma unroll
        for (int j = 0; j < kColumns; j += kRun) {
          const Vector<float, 4> y = shared_load_vector<4>(v, (k + e) * stride + value_column(j));
#pragma unroll
          for (int i = 0; i < kRows; ++i)
#pragma unroll
            for (int c = 0; c < kRun; ++c) o[i][j + c] = __fmaf_rn(x[i].values[e], y.values[c], o[i][j + c]);
        }
    }
  }
};

__device__ __forceinline__ void multiply_fragments(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                   bfloat16) {
  mma_bf16(d, a, b);
}
__device__ __forceinline__ void multiply_fragments(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                   half) {
  mma_f16(d, a, b);
}

// 16-bit operands on tensor cores, mma.m16n8k16 with f32 sums: a warp holds 16 rows as that instruction has them.
template <typename E>
struct MmaFragment {
  typedef E Operand;
  static constexpr int kRows = 2;
  static constexpr int kWarpRows = 16;
  static constexpr int kRowLanes = 4;
  static constexpr int kDepthUnit = 16;
  static constexpr int kColumnUnit = 16;
  static constexpr int kRun = 2;
  static constexpr bool kReadsDown = true;  // `products` takes p as [inner][rows] too

  __device__ __forceinline__ static int row(int i) {
    return warp_index() * kWarpRows + lane_index() / kRowLanes + 8 * i;
  }
  __device__ __forceinline__ static int score_column(int j) { return j / 2 * 8 + lane_index() % kRowLanes * 2 + j % 2; }
  __device__ __forceinline__ static int value_column(int j) { return score_column(j); }

  static __device__ constexpr int staging_elements(int, int) { return 0; }

  template <int kColumns>
  __device__ __forceinline__ static void scores(float (&s)[kRows][kColumns], const E* a, const E* b, int stride,
                                                int depth) {
    const int lane = lane_index();
    const E* const of_a = a + (warp_index() * kWarpRows + lane % 16) * stride + lane / 16 * 8;
    const E* const of_b = b + (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8;
#pragma unroll 1
    for (int k = 0; k < depth; k += 16) {
      unsigned x[4];
      load_matrices<4>(x, of_a + k);
#pragma unroll
      for (int j = 0; j < kColumns; j += 4) {
        unsigned y[4];
        load_matrices<4>(y, of_b + j * 4 * stride + k);
        multiply(s, j, x, y);
      }
    }
  }

  // p is narrowed to E: its registers are the operand as they are.
  template <int kInner, int kColumns>
  __device__ __forceinline__ static void values(float (&o)[kRows][kColumns], const float (&p)[kRows][kInner], E*,
                                                const E* v, int stride) {
    const int lane = lane_index();
    const E* const of_v = v + lane % 16 * stride + lane / 16 * 8;
#pragma unroll
    for (int k = 0; k < kInner; k += 4) {
      const unsigned x[4] = {pair(p[0][k], p[0][k + 1]), pair(p[1][k], p[1][k + 1]), pair(p[0][k + 2], p[0][k + 3]),
                             pair(p[1][k + 2], p[1][k + 3])};
#pragma unroll
      for (int j = 0; j < kColumns; j += 4) {
        unsigned y[4];
        load_matrices<4, true>(y, of_v + k * 4 * stride + j * 4);
        multiply(o, j, x, y);
      }
    }
  }

  // o += p·v, p[rows][kExtent] in shared memory; with kDown it lies as [kExtent][rows].
  template <int kExtent, bool kDown = false, int kColumns>
  __device__ __forceinline__ static void products(float (&o)[kRows][kColumns], const E* p, int p_stride, const E* v,
                                                  int stride) {
    const int lane = lane_index(), own = warp_index() * kWarpRows;
    const E* const of_p = kDown ? p + (lane / 16 * 8 + lane % 8) * p_stride + own + lane / 8 % 2 * 8
                                : p + (own + lane % 16) * p_stride + lane / 16 * 8;
    const E* const of_v = v + lane % 16 * stride + lane / 16 * 8;
#pragma unroll 1
    for (int k = 0; k < kExtent; k += 16) {
      unsigned x[4];
      load_matrices<4, kDown>(x, of_p + (kDown ? k * p_stride : k));
#pragma unroll
      for (int j = 0; j < kColumns; j += 4) {
        unsigned y[4];
        load_matrices<4, true>(y, of_v + k * stride + j * 4);
        multiply(o, j, x, y);
      }
    }
  }

 private:
  __device__ __forceinline__ static unsigned pair(float low, float high) {
    E x, y;
    narrow(low, x);
    narrow(high, y);
    return x.bits | static_cast<unsigned>(y.bits) << 16;
  }

  // Two instructions: 16 columns from j on.
  template <int kColumns>
  __device__ __forceinline__ static void multiply(float (&d)[kRows][kColumns], int j, const unsigned (&x)[4],
                                                  const unsigned (&y)[4]) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int c = j + 2 * part;
      float sum[4] = {d[0][c], d[0][c + 1], d[1][c], d[1][c + 1]};
      const unsigned column[2] = {y[2 * part], y[2 * part + 1]};
      multiply_fragments(sum, x, column, E{});
      d[0][c] = sum[0];
      d[0][c + 1] = sum[1];
      d[1][c] = sum[2];
      d[1][c + 1] = sum[3];
    }
  }
};

// A depth with the zeros behind it.
template <typename Fragment>
__device__ __forceinline__ int whole_units(int depth) {
  return (depth + Fragment::kDepthUnit - 1) / Fragment::kDepthUnit * Fragment::kDepthUnit;
}

template <int kRows, int kColumns>
__device__ __forceinline__ void fill(float (&x)[kRows][kColumns], float value) {
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j) x[i][j] = value;
}

// The lanes that share a row, combined; every one of them has the result.
template <int kLanes, typename Op>
__device__ __forceinline__ float combine_lanes(float x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) x = Op::combine(x, __shfl_xor_sync(0xffffffffU, x, step));
  return x;
}

// A matrix in global memory.
template <typename E>
struct MatrixView {
  typedef ElementOf<E> Type;
  E* data;
  int64_t row_stride, column_stride;

  __device__ __forceinline__ E* row(int64_t r) const { return data + r * row_stride; }
  __device__ __forceinline__ bool rows_are_aligned(int unit) const { return row_stride % unit == 0; }
};

// A matrix whose rows lie behind two strides: row r at (r / inner)·outer_stride + (r % inner)·row_stride.
template <typename E>
struct SplitRows {
  typedef ElementOf<E> Type;
  E* data;
  int64_t first, inner, outer_stride, row_stride, column_stride;

  __device__ __forceinline__ E* row(int64_t r) const {
    return data + (first + r) / inner * outer_stride + (first + r) % inner * row_stride;
  }
  __device__ __forceinline__ bool rows_are_aligned(int unit) const {
    return outer_stride % unit == 0 && row_stride % unit == 0;
  }
};

// An element as a tile of E holds it.
template <typename E, typename From>
__device__ __forceinline__ E tile_element(From x) {
  if constexpr (sizeof(E) == sizeof(From)) {
    return x;
  } else {
    E element;
    narrow(widened(x), element);
    return element;
  }
}

// A tile of kRows by kColumns elements into shared memory by kThreads threads, zeros where there is nothing: `rows`
// rows of `columns` elements exist, and become E. Copies run until wait_async.
template <int kThreads, int kRows, int kColumns, typename E, typename View>
__device__ __forceinline__ void load_tile(E* to, int stride, const View& from, int rows, int columns) {
  typedef typename View::Type From;
  constexpr bool kCopies = sizeof(E) == sizeof(From);
  constexpr int kBytes = sizeof(E) > sizeof(From) ? sizeof(E) : sizeof(From);
  constexpr int kUnit = 16 / kBytes, kUnits = (kColumns + kUnit - 1) / kUnit;
  const E zero{};
  if (from.column_stride == 1 && from.rows_are_aligned(kUnit) && columns % kUnit == 0 && is_aligned<16>(from.data)) {
#pragma unroll(kCopies ? 1 : 2)
    for (int i = thread_index(); i < kRows * kUnits; i += kThreads) {
      const int r = i / kUnits, c = i % kUnits * kUnit;
      const bool exists = r < rows && c < columns;
      if constexpr (kCopies) {
        if (exists) {
          copy_async<16>(to + r * stride + c, from.row(r) + c);
          continue;
        }
      }
      Vector<E, kUnit> unit{};
      if constexpr (!kCopies) {
        if (exists) {
          const Vector<From, kUnit> elements = load_vector<kUnit>(from.row(r), c);
#pragma unroll
          for (int e = 0; e < kUnit; ++e) unit[e] = tile_element<E>(elements[e]);
        }
      }
      shared_store_vector<kUnit>(to, r * stride + c, unit);
    }
    return;
  }
  // Neighbouring threads along whichever axis lies together.
  const bool down = from.row_stride == 1 && from.column_stride != 1;
  for (int i = thread_index(); i < kRows * kColumns; i += kThreads) {
    const int r = down ? i % kRows : i / kColumns, c = down ? i / kRows : i % kColumns;
    const bool exists = r < rows && c < columns;
    shared_store(to, r * stride + c, exists ? tile_element<E>(load(from.row(r), c * from.column_stride)) : zero);
  }
}

// `rows` rows of `columns` columns of the values o, from registers; with `add`, to what is there.
template <typename Fragment, int kColumns, typename View>
__device__ __forceinline__ void store_values(const View& to, const float (&o)[Fragment::kRows][kColumns], int rows,
                                             int columns, bool add = false) {
  typedef typename View::Type E;
  constexpr int kRun = Fragment::kRun;
  const bool vectors = to.column_stride == 1 && to.rows_are_aligned(kRun) && is_aligned<16>(to.data);
#pragma unroll
  for (int i = 0; i < Fragment::kRows; ++i) {
    if (Fragment::row(i) >= rows) continue;
    E* const row = to.row(Fragment::row(i));
#pragma unroll
    for (int j = 0; j < kColumns; j += kRun) {
      const int c = Fragment::value_column(j);
      if (vectors && c + kRun <= columns) {
        Vector<E, kRun> run{};
        if (add) run = load_vector<kRun>(row, c);
#pragma unroll
        for (int e = 0; e < kRun; ++e) narrow(add ? widened(run[e]) + o[i][j + e] : o[i][j + e], run[e]);
        store_vector<kRun>(row, c, run);
        continue;
      }
#pragma unroll
      for (int e = 0; e < kRun; ++e) {
        if (c + e >= columns) continue;
        const int64_t at = (c + e) * to.column_stride;
        E element;
        narrow(add ? widened(load(row, at)) + o[i][j + e] : o[i][j + e], element);
        store(row, at, element);
      }
    }
  }
}

}  // namespace stepc_device
