#pragma once

#include "runtime/cuda/architecture.h"

#include <cstdint>
#include <string>

namespace stepc::simt {

// What an architecture allows a launch (CUDA C++ Programming Guide, "Compute Capabilities"). Registers are not
// modelled.
struct LaunchLimits {
  int64_t grid = 2'147'483'647;  // blocks in x
  int32_t threads = 1024;        // per block
  int64_t shared_bytes = 0;      // per block, after opting in
};

LaunchLimits limits_of(cuda::Architecture architecture);

// What is wrong with a launch, or nothing.
std::string exceeded_limit(cuda::Architecture architecture, int64_t grid, int64_t threads, int64_t shared_bytes);

}  // namespace stepc::simt
