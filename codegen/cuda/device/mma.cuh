#pragma once

#include "codegen/cuda/device/memory.cuh"

// Tensor cores, for whole warps: d(16, 8) += a(16, K) · b(K, 8) with f32 accumulators, K = 16 for 16-bit operands and 8
// for TF32. Fragments are those of mma.sync.m16n8k16 and .m16n8k8 in the PTX manual: with row = lane / 4 and column =
// 2 (lane mod 4), and two 16-bit elements in a register, the lower index in the lower half,
//
//   a[0] A(row, column..)   a[1] A(row + 8, column..)   a[2] A(row, column + 8..)   a[3] A(row + 8, column + 8..)
//   b[0] B(column.., row)   b[1] B(column + 8.., row)
//   d[0], d[1] D(row, column..)   d[2], d[3] D(row + 8, column..)
//
// and with one TF32 element in a register the same for column = lane mod 4, and 4 in place of 8 in columns of A and
// rows of B.
//
// The SIMT target multiplies exactly and adds in f32 in the order of k; hardware's order and rounding within a step
// are its own.
namespace stepc_device {

#ifdef STEPC_SIMT
// What the operands are of: elements in a register, and one of them.
struct Tf32 {};
template <typename T>
inline constexpr int kPacked = 2;
template <>
inline constexpr int kPacked<Tf32> = 1;

__device__ __forceinline__ float element_of(unsigned pair, int k, bfloat16) {
  return to_f32(bfloat16{static_cast<unsigned short>(pair >> (16 * (k & 1)))});
}
__device__ __forceinline__ float element_of(unsigned pair, int k, half) {
  return to_f32(half{static_cast<unsigned short>(pair >> (16 * (k & 1)))});
}
__device__ __forceinline__ float element_of(unsigned bits, int, Tf32) {
  return __uint_as_float(bits & 0xffffe000U);  // the others are not looked at
}

// What a lane brings to an mma, and where the others find it.
struct MmaOperands {
  unsigned a[4];
  unsigned b[2];
};

template <typename T>
__device__ inline void mma_of_warp(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], int line) {
  const MmaOperands own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const stepc_simt::Lanes<MmaOperands> lanes(kStepcMma, 0xffffffffU, own, line);
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + 8 * (i / 2);
    const int column = 2 * (lane % 4) + i % 2;
    constexpr int kHalf = 4 * kPacked<T>;
    for (int k = 0; k < 2 * kHalf; ++k) {
      const int within = k % kHalf / kPacked<T>;
      const unsigned left = lanes[4 * (row % 8) + within].a[row / 8 + 2 * (k / kHalf)];
      const unsigned right = lanes[4 * column + within].b[k / kHalf];
      d[i] += element_of(left, k, T{}) * element_of(right, k, T{});
    }
  }
}
#endif

__device__ __forceinline__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                         int line = STEPC_HERE) {
#ifdef STEPC_SIMT
  mma_of_warp<bfloat16>(d, a, b, line);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

__device__ __forceinline__ void mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                        int line = STEPC_HERE) {
#ifdef STEPC_SIMT
  mma_of_warp<half>(d, a, b, line);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Operands as to_tf32 gives them.
__device__ __forceinline__ void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                         int line = STEPC_HERE) {
#ifdef STEPC_SIMT
  mma_of_warp<Tf32>(d, a, b, line);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Loads COUNT (1, 2 or 4) 8x8 matrices of 16-bit elements from shared memory into a warp's fragments (ldmatrix). Lane
// 8 m + r passes the address of row r of matrix m, 16 bytes long and aligned; the other lanes' addresses are not used.
// Register m gets elements (lane / 4, 2 (lane mod 4)..) of matrix m, or with TRANSPOSED those of its transpose.
template <int COUNT, bool TRANSPOSED = false>
__device__ __forceinline__ void load_matrices(unsigned (&fragment)[COUNT], const void* row, int line = STEPC_HERE) {
  static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4, "ldmatrix loads 1, 2 or 4 matrices");
#ifdef STEPC_SIMT
  using Row = Vector<unsigned short, 8>;
  const int lane = static_cast<int>(threadIdx.x % 32);
  Row own = {};
  if (lane < 8 * COUNT) own = shared_load_as<Row>(static_cast<const unsigned short*>(row), 0, line);
  const stepc_simt::Lanes<Row> rows(kStepcLoadMatrices, 0xffffffffU, own, line);
  const int r = lane / 4;
  const int c = 2 * (lane % 4);
  for (int m = 0; m < COUNT; ++m) {
    const unsigned low = TRANSPOSED ? rows[8 * m + c][r] : rows[8 * m + r][c];
    const unsigned high = TRANSPOSED ? rows[8 * m + c + 1][r] : rows[8 * m + r][c + 1];
    fragment[m] = low | (high << 16);
  }
#else
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  unsigned unused[3];
  unsigned& second = COUNT > 1 ? fragment[COUNT > 1 ? 1 : 0] : unused[0];
  unsigned& third = COUNT > 2 ? fragment[COUNT > 2 ? 2 : 0] : unused[1];
  unsigned& fourth = COUNT > 2 ? fragment[COUNT > 2 ? 3 : 0] : unused[2];
#define STEPC_LDMATRIX(FORM, REGISTERS, ...) \
  asm volatile("ldmatrix.sync.aligned.m8n8." FORM ".shared.b16 " REGISTERS ";\n" : __VA_ARGS__ : "r"(from) : "memory")
  if (COUNT == 1 && !TRANSPOSED) STEPC_LDMATRIX("x1", "{%0}, [%1]", "=r"(fragment[0]));
  if (COUNT == 1 && TRANSPOSED) STEPC_LDMATRIX("x1.trans", "{%0}, [%1]", "=r"(fragment[0]));
  if (COUNT == 2 && !TRANSPOSED) STEPC_LDMATRIX("x2", "{%0, %1}, [%2]", "=r"(fragment[0]), "=r"(second));
  if (COUNT == 2 && TRANSPOSED) STEPC_LDMATRIX("x2.trans", "{%0, %1}, [%2]", "=r"(fragment[0]), "=r"(second));
  if (COUNT == 4 && !TRANSPOSED)
    STEPC_LDMATRIX("x4", "{%0, %1, %2, %3}, [%4]", "=r"(fragment[0]), "=r"(second), "=r"(third), "=r"(fourth));
  if (COUNT == 4 && TRANSPOSED)
    STEPC_LDMATRIX("x4.trans", "{%0, %1, %2, %3}, [%4]", "=r"(fragment[0]), "=r"(second), "=r"(third), "=r"(fourth));
#undef STEPC_LDMATRIX
#endif
}

}  // namespace stepc_device
