#pragma once

#include <string>
#include <vector>

namespace stepc::test {

// Kernels as the printer writes them: complete, without an include.
inline const std::string kScaleKernel = R"(
extern "C" __global__ void __launch_bounds__(256) scale(const float* x, float* y, char* scratch, int* error) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * 2.0f + 1.0f;
}
)";

inline const std::string kReduceKernel = R"(
extern __shared__ __align__(16) unsigned char stepc_shared[];
static __device__ float warp_sum(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
  return value;
}
extern "C" __global__ void __launch_bounds__(128) reduce(const float* x, float* y, char* scratch, int* error) {
  __shared__ float partial[4];
  float* const row = (float*)stepc_shared;
  row[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  const float sum = warp_sum(row[127 - threadIdx.x]);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = partial[0] + partial[1] + partial[2] + partial[3];
}
)";

// Two functions, the second of which asks for few registers and therefore spills.
inline const std::string kSpillKernel = R"(
extern "C" __global__ void copy_one(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void __launch_bounds__(1024, 2) spill(const double* x, double* y, int n) {
  double v[48];
#pragma unroll
  for (int i = 0; i < 48; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
  double s = 0;
#pragma unroll
  for (int i = 0; i < 48; ++i) s = s * v[47 - i] + v[i];
  y[threadIdx.x] = s;
}
)";

inline const std::string kCopyAsyncKernel = R"(
extern "C" __global__ void __launch_bounds__(64) copy_async(const float4* x, float4* y, char* scratch, int* error) {
  __shared__ __align__(16) float4 tile[64];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}
)";

inline const std::string kMmaKernel = R"(
extern "C" __global__ void __launch_bounds__(32) multiply(const unsigned* a, const unsigned* b, float* c) {
  float d[4] = {0, 0, 0, 0};
  const unsigned* const ra = a + threadIdx.x * 4;
  const unsigned* const rb = b + threadIdx.x * 2;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = d[i];
}
)";

inline std::vector<std::string> cuda_units() {
  return {kScaleKernel, kReduceKernel, kSpillKernel, kCopyAsyncKernel, kMmaKernel};
}

}  // namespace stepc::test
