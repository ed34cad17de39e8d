// Kernels without faults: nothing is found, values are right, and bits are the same in every order of threads.
#include "ir/half.h"
#include "tests/runtime/simt/simt_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace stepc::test {
namespace {

using simt::Order;

// Runs the kernel over `input` in every order and gives what it wrote.
template <typename Out, typename In>
std::vector<Out> run(const std::string& kernel, int64_t grid, int32_t threads, int64_t shared_bytes,
                     const std::vector<In>& input, size_t count) {
  std::vector<Out> first;
  for (const Order order : kOrders) {
    SimtCase test(kernel, order);
    Out* const output = test.output<Out>(count);
    test.launch(grid, threads, shared_bytes, test.buffer(input), output);
    const std::vector<Out> result(output, output + count);
    if (order == Order::ascending) first = result;
    EXPECT_EQ(std::memcmp(first.data(), result.data(), count * sizeof(Out)), 0) << "order " << static_cast<int>(order);
  }
  return first;
}

std::vector<float> noise(size_t count) {
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i * 7919 % 257) / 64.0F - 2.0F;
  return result;
}

TEST(SimtKernels, MapOverManyBlocks) {
  const std::vector<float> x = noise(4100);
  const auto y = run<float>(R"(extern "C" __global__ void __launch_bounds__(128) kernel(const float* x, float* y) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 4100; i += stride)
      store(y, i, __fmaf_rn(load(x, i), 2.0f, 1.0f));
  })",
                            7, 128, 0, x, x.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] * 2 + 1);
}

TEST(SimtKernels, ReductionOfRows) {
  const std::vector<float> x = noise(3 * 1000);
  const auto y = run<float>(R"(
  template <int THREADS>
  __device__ float row_sum(float v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_xor_sync(0xffffffffu, v, lanes);
    __shared__ float warps[THREADS / 32];
    if (threadIdx.x % 32 == 0) shared_store(warps, threadIdx.x / 32, v);
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) total += shared_load(warps, w);
    __syncthreads();
    return total;
  }
  extern "C" __global__ void kernel(const float* x, float* y) {
    const float* row = x + blockIdx.x * 1000;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < 1000; i += 256) sum += load(row, i);
    const float mean = row_sum<256>(sum) / 1000.0f;
    float square = 0.0f;
    for (int i = threadIdx.x; i < 1000; i += 256) square += (load(row, i) - mean) * (load(row, i) - mean);
    const float variance = row_sum<256>(square) / 1000.0f;
    if (threadIdx.x == 0) store_vector<2>(y, 2 * blockIdx.x, Vector<float, 2>{{mean, variance}});
  })",
                            3, 256, 0, x, 6);
  for (size_t row = 0; row < 3; ++row) {
    const auto begin = x.begin() + static_cast<ptrdiff_t>(row * 1000);
    const double mean = std::accumulate(begin, begin + 1000, 0.0) / 1000;
    double variance = 0;
    for (auto i = begin; i < begin + 1000; ++i) variance += (*i - mean) * (*i - mean) / 1000;
    EXPECT_NEAR(y[2 * row], mean, 1e-5);
    EXPECT_NEAR(y[2 * row + 1], variance, 1e-4);
  }
}

TEST(SimtKernels, TransposeThroughSharedMemory) {
  const std::vector<float> x = noise(40 * 70);
  const auto y = run<float>(R"(extern "C" __global__ void kernel(const float* x, float* y) {
    extern __shared__ __align__(16) unsigned char stepc_shared[];
    float* tile = reinterpret_cast<float*>(stepc_shared);  // (32, 33)
    const int column = blockIdx.x % 3 * 32, row = blockIdx.x / 3 * 32;
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += 8)
      if (row + i < 40 && column + lane < 70) shared_store(tile, i * 33 + lane, load(x, (row + i) * 70 + column + lane));
    __syncthreads();
    for (int i = threadIdx.x / 32; i < 32; i += 8)
      if (column + i < 70 && row + lane < 40) store(y, (column + i) * 40 + row + lane, shared_load(tile, lane * 33 + i));
  })",
                            6, 256, 32 * 33 * 4, x, x.size());
  for (size_t i = 0; i < 40; ++i)
    for (size_t j = 0; j < 70; ++j) EXPECT_EQ(y[j * 40 + i], x[i * 70 + j]);
}

TEST(SimtKernels, ScanWithShuffles) {
  std::vector<int> x(256);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * i % 11);
  const auto y = run<int>(R"(extern "C" __global__ void kernel(const int* x, int* y) {
    __shared__ int warps[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = load(x, threadIdx.x);
    for (int d = 1; d < 32; d *= 2) {
      const int before = __shfl_up_sync(0xffffffffu, v, d);
      if (lane >= d) v += before;
    }
    if (lane == 31) shared_store(warps, warp, v);
    __syncthreads();
    if (warp == 0) {  // a shuffle of one warp alone
      int total = lane < 8 ? shared_load(warps, lane) : 0;
      for (int d = 1; d < 8; d *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, total, d, 8);
        if (lane % 8 >= d) total += before;
      }
      if (lane < 8) shared_store(warps, lane, total);
    }
    __syncthreads();
    store(y, threadIdx.x, v + (warp > 0 ? shared_load(warps, warp - 1) : 0));
  })",
                          1, 256, 0, x, x.size());
  std::vector<int> expected(256);
  std::partial_sum(x.begin(), x.end(), expected.begin());
  EXPECT_EQ(y, expected);
}

// Every width: the source of each lane, as the programming guide defines it.
TEST(SimtKernels, WidthsOfShuffles) {
  const auto y = run<int>(R"(extern "C" __global__ void kernel(const int* x, int* y) {
    const int lane = threadIdx.x;
    int at = 0;
    for (int width = 1; width <= 32; width *= 2) {
      store(y, 32 * at++ + lane, __shfl_sync(0xffffffffu, lane, 5, width));
      store(y, 32 * at++ + lane, __shfl_up_sync(0xffffffffu, lane, 3, width));
      store(y, 32 * at++ + lane, __shfl_down_sync(0xffffffffu, lane, 3, width));
      store(y, 32 * at++ + lane, __shfl_xor_sync(0xffffffffu, lane, 6, width));
    }
  })",
                          1, 32, 0, std::vector<int>{0}, 6 * 4 * 32);
  for (int w = 0; w < 6; ++w) {
    const int width = 1 << w;
    for (int lane = 0; lane < 32; ++lane) {
      const int first = lane / width * width;
      const int within = lane % width;
      const auto at = [&](int kind) { return y[static_cast<size_t>(32 * (4 * w + kind) + lane)]; };
      EXPECT_EQ(at(0), first + 5 % width);
      EXPECT_EQ(at(1), within >= 3 ? lane - 3 : lane);
      EXPECT_EQ(at(2), within + 3 < width ? lane + 3 : lane);
      EXPECT_EQ(at(3), (lane ^ 6) < first + width ? lane ^ 6 : lane) << "width " << width << " lane " << lane;
    }
  }
}

TEST(SimtKernels, VotesAndActiveLanes) {
  const auto y = run<unsigned>(R"(extern "C" __global__ void kernel(const int* x, unsigned* y) {
    const int lane = threadIdx.x % 32;
    unsigned mask = 0;
    if (lane % 3 == 0) {
      mask = __activemask();
      mask |= __ballot_sync(mask, lane > 10) << 1;
    }
    __syncwarp();
    const unsigned votes = __any_sync(0xffffffffu, lane == 7) * 4 + __all_sync(0xffffffffu, lane < 32) * 2 +
                           __all_sync(0xffffffffu, lane == 7);
    store(y, threadIdx.x, lane % 3 == 0 ? mask : votes);
  })",
                               1, 64, 0, std::vector<int>{0}, 64);
  unsigned active = 0;
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < 32; lane += 3) {
    active |= 1U << lane;
    if (lane > 10) ballot |= 1U << lane;
  }
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], i % 32 % 3 == 0 ? (active | ballot << 1) : 6U) << i;
}

// Lanes that a __syncwarp joined may see each other's stores; threads may end before others do.
TEST(SimtKernels, WarpsMayShareAfterSyncwarp) {
  const std::vector<float> x = noise(100);
  const auto y = run<float>(R"(extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float s[100];
    const int t = threadIdx.x;
    if (t >= 96) return;
    for (int round = 0; round < 3; ++round) {
      shared_store(s, t, load(x, t) + round);
      __syncwarp();
      const float other = shared_load(s, t ^ 1);
      __syncwarp();
      store(y, t, other);
    }
  })",
                            1, 100, 0, x, 96);
  for (size_t i = 0; i < 96; ++i) EXPECT_EQ(y[i], x[i ^ 1] + 2);
}

TEST(SimtKernels, BlocksShareNothingHoweverOftenWarpsSynchronise) {
  const std::vector<float> x = noise(8 * 64);
  const auto y = run<float>(R"(extern "C" __global__ void __launch_bounds__(64) kernel(const float* x, float* y) {
    __shared__ float values[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    shared_store(values, threadIdx.x, load(x, i));
    for (int n = 0; n < 3; ++n) __syncwarp();
    store(y, i, shared_load(values, threadIdx.x ^ 1));
  })",
                            8, 64, 0, x, x.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i ^ 1]);
}

TEST(SimtKernels, AtomicsInBothMemories) {
  std::vector<int> x(5000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * 31 % 16);
  const std::string kernel = R"(extern "C" __global__ void kernel(const int* x, int* y) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) shared_store(bins, threadIdx.x, 0);
    __syncthreads();
    for (int i = blockIdx.x * 64 + threadIdx.x; i < 5000; i += 64 * gridDim.x) atomicAdd(&bins[load(x, i)], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(y + threadIdx.x, shared_load(bins, threadIdx.x));
    atomicMax(y + 16, static_cast<int>(blockIdx.x));
  })";
  for (const Order order : kOrders) {
    SimtCase test(kernel, order);
    int* const y = test.buffer(std::vector<int>(17, 0));
    test.launch(40, 64, 0, test.buffer(x), y);
    for (int bin = 0; bin < 16; ++bin) EXPECT_EQ(y[bin], std::count(x.begin(), x.end(), bin));
    EXPECT_EQ(y[16], 39);
  }
}

// Two stages of copies: one is used while the next is under way.
TEST(SimtKernels, PipelineOfAsynchronousCopies) {
  const std::vector<float> x = noise(64 * 10);
  const auto y = run<float>(R"(extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ __align__(16) float stages[2][64];
    const int t = threadIdx.x;
    if (t < 16) copy_async<16>(&stages[0][4 * t], x + 4 * t);
    commit_async();
    float sum = 0.0f;
    for (int i = 0; i < 10; ++i) {
      if (i + 1 < 10 && t < 16) copy_async<16>(&stages[(i + 1) % 2][4 * t], x + 64 * (i + 1) + 4 * t);
      commit_async();
      wait_async<1>();
      __syncthreads();
      sum += shared_load(&stages[0][0], i % 2 * 64 + (63 - t));
      __syncthreads();
    }
    store(y, t, sum);
  })",
                            1, 64, 0, x, 64);
  for (size_t t = 0; t < 64; ++t) {
    float sum = 0;
    for (size_t i = 0; i < 10; ++i) sum += x[64 * i + 63 - t];
    EXPECT_EQ(y[t], sum);
  }
}

// All that are exact in 16 bits both ways, and roundings at many places.
TEST(SimtKernels, SixteenBitFloatsAreThoseOfTheInterpreter) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65521) {
    const auto pattern = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &pattern, sizeof(value));
    x.push_back(value);
  }
  ASSERT_GE(x.size(), 65536U);
  const auto count = x.size();
  const std::string text = R"(extern "C" __global__ void kernel(const float* x, half* h, bfloat16* b, float* wide) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < COUNT) {
      store(h, i, to_f16(load(x, i)));
      store(b, i, to_bf16(load(x, i)));
    }
    if (i < 65536) {
      store(wide, 2 * i, to_f32(half{static_cast<unsigned short>(i)}));
      store(wide, 2 * i + 1, to_f32(bfloat16{static_cast<unsigned short>(i)}));
    }
  })";
  SimtCase test("#define COUNT " + std::to_string(count) + "\n" + text);
  auto* const h = test.output<uint16_t>(count);
  auto* const b = test.output<uint16_t>(count);
  auto* const wide = test.output<uint32_t>(2 * 65536);
  test.launch(static_cast<int64_t>(count / 256 + 1), 256, 0, test.buffer(x), h, b, wide);
  const auto bits_of = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  };
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(h[i], f32_to_f16(x[i])) << x[i];
    ASSERT_EQ(b[i], f32_to_bf16(x[i])) << x[i];
  }
  for (uint32_t i = 0; i < 65536; ++i) {
    ASSERT_EQ(wide[2 * i], bits_of(f16_to_f32(static_cast<uint16_t>(i)))) << i;
    ASSERT_EQ(wide[2 * i + 1], bits_of(bf16_to_f32(static_cast<uint16_t>(i)))) << i;
  }
}

// D(16, 8) = A(16, 16) · B(16, 8), fragments gathered by hand and by ldmatrix.
std::string mma_kernel(bool bf16) {
  return std::string("#define MMA ") + (bf16 ? "mma_bf16" : "mma_f16") + R"(
  extern "C" __global__ void kernel(const unsigned short* x, float* y) {
    __shared__ __align__(16) unsigned short a[16 * 16];
    __shared__ __align__(16) unsigned short b[16 * 8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) shared_store(a, i, load(x, i));
    for (int i = lane; i < 128; i += 32) shared_store(b, i, load(x, 256 + i));
    __syncthreads();
    const int row = lane / 4, column = 2 * (lane % 4);
    const auto pair = [](const unsigned short* p, int i, int step) {
      return shared_load(p, i) | static_cast<unsigned>(shared_load(p, i + step)) << 16;
    };
    unsigned fa[4], fb[2];
    for (int r = 0; r < 4; ++r) fa[r] = pair(a, (row + r % 2 * 8) * 16 + column + r / 2 * 8, 1);
    for (int r = 0; r < 2; ++r) fb[r] = pair(b, (column + r * 8) * 8 + row, 8);
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    MMA(d, fa, fb);
    for (int i = 0; i < 4; ++i) store(y, (row + i / 2 * 8) * 8 + column + i % 2, d[i]);

    unsigned la[4], lb[2];
    load_matrices<4>(la, a + lane % 16 * 16 + lane / 16 * 8);
    load_matrices<2, true>(lb, b + lane % 16 * 8);
    for (int r = 0; r < 4; ++r) store(y, 128 + r * 32 + lane, la[r] == fa[r] ? 1.0f : 0.0f);
    for (int r = 0; r < 2; ++r) store(y, 256 + r * 32 + lane, lb[r] == fb[r] ? 1.0f : 0.0f);
  })";
}

TEST(SimtKernels, MmaAgainstANaiveProduct) {
  for (const bool bf16 : {true, false}) {
    std::vector<uint16_t> x(256 + 128);
    const std::vector<float> values = noise(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = bf16 ? f32_to_bf16(values[i]) : f32_to_f16(values[i]);
    const auto y = run<float>(mma_kernel(bf16), 1, 32, 0, x, 320);
    const auto value = [&](size_t i) { return bf16 ? bf16_to_f32(x[i]) : f16_to_f32(x[i]); };
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 8; ++j) {
        float sum = 0;
        for (size_t k = 0; k < 16; ++k) sum += value(i * 16 + k) * value(256 + k * 8 + j);
        EXPECT_EQ(y[i * 8 + j], sum) << i << ", " << j;
      }
    for (size_t i = 128; i < 320; ++i) EXPECT_EQ(y[i], 1.0F) << "ldmatrix " << i;
  }
}

// 11 significant bits, ties away from zero.
float rounded_to_tf32(float x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return static_cast<float>(std::ldexp(std::round(fraction * 2048), exponent - 11));
}

// D(16, 8) = A(16, 8) · B(8, 8) of rounded operands.
TEST(SimtKernels, Tf32MmaAgainstANaiveProduct) {
  const std::string text = R"(
  extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x, row = lane / 4, column = lane % 4;
    unsigned a[4], b[2];
    for (int r = 0; r < 4; ++r) a[r] = to_tf32(load(x, (row + r % 2 * 8) * 8 + column + r / 2 * 4));
    for (int r = 0; r < 2; ++r) b[r] = to_tf32(load(x, 128 + (column + r * 4) * 8 + row));
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    mma_tf32(d, a, b);
    for (int i = 0; i < 4; ++i) store(y, (row + i / 2 * 8) * 8 + 2 * column + i % 2, d[i]);
  })";
  std::vector<float> x = noise(128 + 64);
  x[0] = 1 + 0x1p-11F;  // a tie
  x[1] = -1 - 0x1p-11F;
  x[2] = 1 + 0x1.fp-12F;
  const auto y = run<float>(text, 1, 32, 0, x, 128);
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 8; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += rounded_to_tf32(x[i * 8 + k]) * rounded_to_tf32(x[128 + k * 8 + j]);
      EXPECT_EQ(y[i * 8 + j], sum) << i << ", " << j;
    }
}

}  // namespace
}  // namespace stepc::test
