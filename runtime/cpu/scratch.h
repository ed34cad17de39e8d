#pragma once

#include "ir/plan.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/thread_pool.h"

namespace stepc {

// The scratch of every CPU kernel: partial results of two-stage reductions, oneDNN's own for convolutions. Matrix
// products pack their operands in memory of oneDNN's that it does not let others provide.
class CpuScratch : public LibraryScratch {
 public:
  // What oneDNN takes depends on the threads that will run it; 0: all processors.
  explicit CpuScratch(int threads = 0, cpu::Products products = cpu_products()) : pool_(threads), products_(products) {}
  int64_t scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const override;

 private:
  ThreadPool pool_;  // sets oneDNN's threads
  cpu::Products products_;
};

}  // namespace stepc
