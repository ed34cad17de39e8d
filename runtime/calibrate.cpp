#include "runtime/calibrate.h"

#include "runtime/cpu/matmul.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/memory.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace stepc {
namespace {

// The shortest of several runs, in seconds; the first one warms up.
template <typename F>
double fastest(int runs, F&& f) {
  double best = 1e30;
  for (int i = 0; i <= runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (i > 0) best = std::min(best, elapsed.count());
  }
  return best;
}

double matmul_flops_per_second(ThreadPool& pool) {
  constexpr int64_t kSize = 1536;
  MemoryRegion memory(3 * kSize * kSize * 4, false);
  auto* const a = reinterpret_cast<float*>(memory.data());
  const MatmulLaunch launch({.m = kSize,
                             .n = kSize,
                             .k = kSize,
                             .a_m = kSize,
                             .a_k = 1,
                             .b_k = kSize,
                             .b_n = 1,
                             .c_m = kSize,
                             .c_n = 1,
                             .batch = {},
                             .sums = {}});
  const double seconds = fastest(4, [&] { launch.run(pool, a, a + kSize * kSize, a + 2 * kSize * kSize); });
  return 2.0 * kSize * kSize * kSize / seconds;
}

double copied_bytes_per_second(ThreadPool& pool) {
  constexpr int64_t kBytes = int64_t{1} << 28;  // far beyond any cache
  MemoryRegion memory(2 * kBytes, false);
  const double seconds = fastest(3, [&] {
    pool.run(kBytes, 1, [&](int64_t begin, int64_t end) {
      std::memcpy(memory.data() + kBytes + begin, memory.data() + begin, static_cast<size_t>(end - begin));
    });
  });
  return 2.0 * kBytes / seconds;
}

}  // namespace

Calibration calibrate(int threads) {
  ThreadPool pool(threads);
  return {pool.threads(), matmul_flops_per_second(pool), copied_bytes_per_second(pool)};
}

}  // namespace stepc
