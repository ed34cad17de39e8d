#include "runtime/gpu/cuda.h"

#include <bit>

namespace stepc {
namespace {

static_assert(sizeof(cuda::DevicePointer) == sizeof(std::byte*));

cuda::DevicePointer on_device(const std::byte* address) { return std::bit_cast<cuda::DevicePointer>(address); }

}  // namespace

CudaGpu::CudaGpu(const cuda::Driver& driver, int ordinal, const cuda::Program& program, const CompileOptions& options)
    : device_(driver, ordinal),
      library_(cuda::translation_units(program.functions), device_.info().architecture, options) {
  device_.load(library_.cubins(), library_.architecture());
}

std::byte* CudaGpu::allocate(int64_t bytes, std::string_view what) {
  return std::bit_cast<std::byte*>(device_.allocate(bytes, what));
}

void CudaGpu::upload(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) device_.upload(on_device(to), from);
}

void CudaGpu::download(std::span<std::byte> to, const std::byte* from) {
  if (!to.empty()) device_.download(to, on_device(from));
}

void CudaGpu::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) device_.copy(on_device(to), on_device(from), bytes);
}

void CudaGpu::fill(std::byte* to, std::byte value, int64_t bytes) {
  if (bytes > 0) device_.fill(on_device(to), value, bytes);
}

void CudaGpu::launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange>) {
  device_.launch(stage.symbol, stage.grid, stage.threads, stage.shared_bytes, arguments);
}

}  // namespace stepc
