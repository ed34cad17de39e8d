#pragma once

#include "ir/cost/device_spec.h"
#include "runtime/gpu/cuda.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace stepc {

// The driver of this machine. Throws UserError where there is none.
const cuda::Driver& gpu_driver();

// The first GPU of this machine; with cuBLASLt where that is wanted and there. Throws UserError: no driver, no GPU.
std::unique_ptr<CudaGpu> open_gpu(bool with_cublaslt);

// Memory that a step on target cuda can have, and whose it is: "GPU 'NVIDIA H100'".
struct GpuMemory {
  std::string owner;
  int64_t bytes = 0;
};
GpuMemory free_gpu_memory();
// Of the device that predictions are made for; nothing where that is not a GPU.
std::optional<GpuMemory> spec_gpu_memory(const DeviceSpec& device);

}  // namespace stepc
