#pragma once

#include <cstdint>

namespace stepc {

// What this machine does, measured: the roofline that predictions and the profile's shares refer to.
struct Calibration {
  int threads = 0;
  double f32_flops_per_second = 0;   // a large oneDNN matrix product
  double copy_bytes_per_second = 0;  // read and written bytes of a copy that no cache holds
  double map_flops_per_second = 0;   // of a generated kernel (GELU) on operands in cache
  double launch_us = 0;              // of a kernel that does nothing on all threads
  int64_t last_level_bytes = 0;      // 0: the system does not say
  int64_t memory_bytes = 0;
};

// Takes some seconds and compiles a kernel. `threads` 0: all processors. Throws UserError where there is no compiler.
Calibration calibrate(int threads = 0);

}  // namespace stepc
