#pragma once

#include "runtime/compile_options.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cuda/architecture.h"
#include "runtime/simt/global_memory.h"
#include "runtime/simt/module.h"
#include "runtime/simt/processor.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace stepc {

struct SimtOptions {
  cuda::Architecture architecture{9, 0};
  simt::Order order = simt::Order::ascending;  // of threads; descending reverses the order of blocks too
  uint64_t seed = 0;                           // of a random order
  int threads = 0;                             // of the host, that run blocks; 0: all processors
  CompileOptions compile;
};

// A CUDA device made of host threads: it runs CUDA text as it is and checks what a GPU would not.
class SimtDevice {
 public:
  explicit SimtDevice(SimtOptions options);

  // Memory of the device; what it allocates is poisoned. Kernels may touch this alone.
  void* allocate(int64_t bytes) { return memory_.allocate(bytes); }
  void release(void* address) { memory_.release(address); }

  // Compiles texts and makes the kernels `symbols` known, in addition to what is loaded. See simt::Module.
  void load(const std::vector<std::string>& texts, std::span<const std::string> symbols);

  int cache_hits() const;  // of the modules loaded

  struct Stage {
    std::string symbol;
    int64_t grid = 1;
    int32_t threads = 256;
    int64_t shared_bytes = 0;
  };
  // Runs a kernel and waits for it. Each of `arguments` points to a parameter's value. `buffers`, where given, are what
  // the kernel's pointers may reach, pieces of allocations; otherwise whole allocations are. Throws FindingsError.
  void launch(const Stage& stage, void* const* arguments, std::span<const simt::Extent> buffers = {});

 private:
  const simt::Entry& find(const std::string& symbol) const;
  void check_limits(const Stage& stage) const;
  std::vector<simt::Finding> run_blocks(const simt::Work& work);
  std::unique_ptr<simt::Processor> take_processor();

  SimtOptions options_;
  ThreadPool pool_;
  simt::GlobalMemory memory_;
  std::vector<std::unique_ptr<simt::Module>> modules_;
  std::mutex mutex_;  // of what the threads of a launch share
  std::vector<std::unique_ptr<simt::Processor>> idle_;
};

}  // namespace stepc
