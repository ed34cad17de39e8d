#include "runtime/cpu/thread_pool.h"

#include <omp.h>

#include <algorithm>

namespace stepc {

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : std::max(1, omp_get_num_procs())) {
  omp_set_num_threads(threads_);
}

void ThreadPool::parallel_for(void* pool, int64_t count, int64_t grain, StepcParallelBody body, const void* argument) {
  if (count <= 0) return;
  const int threads = static_cast<ThreadPool*>(pool)->threads_;
  const int64_t ranges = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, threads);
  if (ranges == 1 || omp_in_parallel() != 0) {
    body(argument, 0, count);
    return;
  }
  // The whole team every time: OpenMP would otherwise end and restart threads.
#pragma omp parallel num_threads(threads)
  {
    const int64_t team = std::min<int64_t>(ranges, omp_get_num_threads());
    const int64_t mine = omp_get_thread_num();
    if (mine < team) {
      const int64_t begin = count / team * mine + std::min(mine, count % team);
      const int64_t end = begin + count / team + (mine < count % team ? 1 : 0);
      body(argument, begin, end);
    }
  }
}

}  // namespace stepc
