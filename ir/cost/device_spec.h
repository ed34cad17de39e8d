#pragma once

#include "ir/dtype.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// Dense FLOP/µs of matrix products, by the type of their operands; 0 where the device has no such arithmetic.
struct ContractionPeaks {
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0;
  bool operator==(const ContractionPeaks&) const = default;
};

// What predictions are made for. Rates of the whole device.
struct DeviceSpec {
  std::string name;
  std::string source;            // where the figures come from
  double bytes_per_us = 0;       // main memory, read and written
  double flops_per_us = 0;       // f32 arithmetic of generated kernels, outside of matrix units
  double launch_us = 0;          // of a kernel that does nothing
  int64_t memory_bytes = 0;      // capacity; 0: not known
  int64_t last_level_bytes = 0;  // the cache that all processors share
  int64_t reuse_bytes = 0;       // what a kernel can be trusted to find again in cache, per processor
  int64_t processors = 0;        // cores, or streaming multiprocessors
  ContractionPeaks contraction;
  // The share of the peak that a library's large products reach.
  double contraction_fraction = 0;

  bool operator==(const DeviceSpec&) const = default;
};

// Two cores with AVX2, as one machine's calibration found them; arithmetic of generated kernels and launches are
// estimates of their order of magnitude.
const DeviceSpec& cpu_device();

// The built-in devices, `cpu` first.
const std::vector<DeviceSpec>& device_specs();

// Null for an unknown name.
const DeviceSpec* find_device_spec(std::string_view name);

// The peak for operands of a dtype, or f32 ones that may be rounded to TF32; 0 where there is none.
double contraction_peak(const DeviceSpec& device, Dtype dtype, bool tf32 = false);

}  // namespace stepc
