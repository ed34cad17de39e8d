#pragma once

#include "runtime/cuda/architecture.h"
#include "runtime/cuda/cubin.h"

#include <cstdint>
#include <string_view>

namespace stepc::cuda {

// What one multiprocessor holds at a time.
struct MultiprocessorLimits {
  int64_t threads = 0;
  int64_t blocks = 0;
  int64_t registers = 0;
  int64_t shared_bytes = 0;  // what the driver keeps of each block included
};

// CUDA C++ Programming Guide, "Compute Capabilities". One of kArchitectures.
MultiprocessorLimits multiprocessor_limits(Architecture architecture);

// How many blocks of a function a multiprocessor runs at a time, and what stands in the way of more.
struct Occupancy {
  int64_t blocks = 0;
  double fraction = 0;     // of the threads that it can hold
  std::string_view bound;  // "threads", "blocks", "registers" or "shared memory"
};
Occupancy occupancy(Architecture architecture, const FunctionFigures& function, int64_t threads,
                    int64_t dynamic_shared_bytes);

}  // namespace stepc::cuda
