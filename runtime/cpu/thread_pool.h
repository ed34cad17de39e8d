#pragma once

#include "codegen/cpu/device/abi.h"

namespace stepc {

// The threads that kernels and oneDNN share: OpenMP's, so that there is one pool. Every thread gets one contiguous
// range.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // 0: all processors; also sets what oneDNN uses from the calling thread
  int threads() const { return threads_; }

  // For StepcKernelArgs, with `this` as the pool.
  static void parallel_for(void* pool, int64_t count, int64_t grain, StepcParallelBody body, const void* argument);

  template <typename Body>
  void run(int64_t count, int64_t grain, const Body& body) {
    parallel_for(
        this, count, grain,
        [](const void* argument, int64_t begin, int64_t end) { (*static_cast<const Body*>(argument))(begin, end); },
        &body);
  }

 private:
  int threads_ = 1;
};

}  // namespace stepc
