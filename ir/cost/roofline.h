#pragma once

#include "ir/kernel.h"

#include <string>

namespace stepc {

// What predictions are made for. Rates of the whole device.
struct DeviceSpec {
  std::string name;
  double bytes_per_us = 0;  // main memory, read and written
  double flops_per_us = 0;  // f32 arithmetic of generated kernels; contractions by a library are not predicted by it
  double launch_us = 0;     // of a kernel that does nothing
};

// Two cores with AVX2. The bandwidth is that of a copy on a quiet machine; arithmetic and launch are estimates of their
// order of magnitude, not measured.
DeviceSpec cpu_device();

// The roofline (Williams, Waterman and Patterson 2009): a launch costs its overhead and the longer of its memory
// traffic and its arithmetic, which overlap.
double predicted_us(const KernelTraffic& traffic, const DeviceSpec& device);

}  // namespace stepc
