#include "ir/cost/device_spec.h"

namespace stepc {
namespace {

constexpr double kTera = 1e6;  // per µs
constexpr double kGiga = 1e3;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGB = 1'000'000'000;

// What large dense products reach of a data sheet's peak, and what a launch in a stream costs: estimates for all GPUs.
constexpr double kGpuContractionFraction = 0.75;
constexpr double kGpuLaunchUs = 3;

// Figures as the data sheets print them.
struct Gpu {
  const char* name;
  const char* source;
  double gigabytes_per_s;
  int64_t gigabytes;
  int64_t multiprocessors;
  int64_t l2_mib;
  double f32;                                                      // outside of matrix units
  double f64_dense, f32_dense, tf32_dense, f16_dense, bf16_dense;  // TFLOP/s without sparsity, f32 accumulation
};

// clang-format off
constexpr Gpu kGpus[] = {
    // name     source                                                        GB/s  GB   SM  L2  f32    f64    f32    tf32   f16    bf16
    {"rtx5090", "NVIDIA RTX Blackwell GPU Architecture, table of GeForce",    1792,  32, 170,  96, 104.8, 1.64, 104.8, 104.8, 209.5, 209.5},
    {"rtx4090", "NVIDIA Ada GPU Architecture, table of GeForce",              1008,  24, 128,  72,  82.6, 1.29,  82.6,  82.6, 165.2, 165.2},
    {"a100",    "NVIDIA A100 80GB SXM data sheet; GA100 architecture",        2039,  80, 108,  40,  19.5, 19.5,  19.5,   156,   312,   312},
    {"h100",    "NVIDIA H100 SXM5 data sheet; Hopper architecture",           3350,  80, 132,  50,  66.9, 66.9,  66.9, 494.7, 989.4, 989.4},
    {"h200",    "NVIDIA H200 SXM data sheet; Hopper architecture",            4800, 141, 132,  50,  66.9, 66.9,  66.9, 494.7, 989.4, 989.4},
    {"b200",    "NVIDIA HGX B200 data sheet, per GPU; SMs and L2 as its driver reports", 7700, 180, 148, 126, 75, 37, 75, 1125, 2250, 2250},
    {"l4",      "NVIDIA L4 data sheet; Ada GPU Architecture",                  300,  24,  58,  48,  30.3, 0.47,  30.3,    60,   121,   121},
};
// clang-format on

// Nobody else evicts it: the share of the last-level cache that each processor has.
int64_t share_of_cache(int64_t bytes, int64_t processors) { return bytes / processors; }

DeviceSpec spec_of(const Gpu& gpu) {
  return {.name = gpu.name,
          .source = gpu.source,
          .bytes_per_us = gpu.gigabytes_per_s * kGiga,
          .flops_per_us = gpu.f32 * kTera,
          .launch_us = kGpuLaunchUs,
          .memory_bytes = gpu.gigabytes * kGB,
          .last_level_bytes = gpu.l2_mib * kMiB,
          .reuse_bytes = share_of_cache(gpu.l2_mib * kMiB, gpu.multiprocessors),
          .processors = gpu.multiprocessors,
          .contraction = {gpu.f64_dense * kTera, gpu.f32_dense * kTera, gpu.tf32_dense * kTera, gpu.f16_dense * kTera,
                          gpu.bf16_dense * kTera},
          .contraction_fraction = kGpuContractionFraction};
}

// A share of the last-level cache on which two cores can count beside other tenants of the machine.
constexpr int64_t kCpuReuseBytes = 2 * kMiB;

std::vector<DeviceSpec> all_specs() {
  std::vector<DeviceSpec> specs{{.name = "cpu",
                                 .source = "two cores of an AMD EPYC with AVX2: bandwidth and products measured by "
                                           "doctor --calibrate, arithmetic and launch estimated",
                                 .bytes_per_us = 19 * kGiga,
                                 .flops_per_us = 60 * kGiga,
                                 .launch_us = 5,
                                 .memory_bytes = 0,
                                 .last_level_bytes = 32 * kMiB,
                                 .reuse_bytes = kCpuReuseBytes,
                                 .processors = 2,
                                 .contraction = {.f32 = 154 * kGiga},
                                 .contraction_fraction = 0.9}};
  for (const Gpu& gpu : kGpus) specs.push_back(spec_of(gpu));
  return specs;
}

}  // namespace

const std::vector<DeviceSpec>& device_specs() {
  static const std::vector<DeviceSpec> specs = all_specs();
  return specs;
}

const DeviceSpec& cpu_device() { return device_specs()[0]; }

const DeviceSpec* find_device_spec(std::string_view name) {
  for (const DeviceSpec& spec : device_specs())
    if (spec.name == name) return &spec;
  return nullptr;
}

double contraction_peak(const DeviceSpec& device, Dtype dtype, bool tf32) {
  if (tf32 && device.contraction.tf32 > 0) return device.contraction.tf32;
  switch (dtype) {
    case Dtype::f64: return device.contraction.f64;
    case Dtype::f32: return device.contraction.f32;
    case Dtype::f16: return device.contraction.f16;
    case Dtype::bf16: return device.contraction.bf16;
    default: return 0;
  }
}

}  // namespace stepc
