#include "tools/driver/gpu.h"

#include <fmt/format.h>

namespace stepc {

const cuda::Driver& gpu_driver() {
  static const cuda::Driver opened = cuda::Driver::open();
  return opened;
}

std::unique_ptr<CudaGpu> open_gpu(bool with_cublaslt) {
  return std::make_unique<CudaGpu>(
      gpu_driver(), 0, CudaGpu::Libraries{with_cublaslt ? cuda::load_cublaslt() : std::nullopt, cuda::Nvtx::open()},
      ObjectCache({}));
}

GpuMemory free_gpu_memory() {
  const cuda::CudaDevice device(gpu_driver(), 0);
  return {fmt::format("GPU '{}'", device.info().name), device.free_bytes()};
}

std::optional<GpuMemory> spec_gpu_memory(const DeviceSpec& device) {
  if (device.memory_bytes == 0 || device == cpu_device()) return std::nullopt;
  return GpuMemory{"a " + device.name, device.memory_bytes};
}

}  // namespace stepc
