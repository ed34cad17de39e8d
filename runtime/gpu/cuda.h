#pragma once

#include "codegen/cuda/program.h"
#include "runtime/cuda/cubin_library.h"
#include "runtime/cuda/device.h"
#include "runtime/gpu/device.h"

namespace stepc {

// A GPU with a program loaded. The driver must outlive it.
class CudaGpu : public GpuDevice {
 public:
  // Throws UserError: no such device, one that no kernel is compiled for, no NVRTC.
  CudaGpu(const cuda::Driver& driver, int ordinal, const cuda::Program& program, const CompileOptions& options);

  const cuda::DeviceInfo& info() const { return device_.info(); }
  double compile_us() const { return static_cast<double>(library_.compile_us()); }
  int cache_hits() const { return library_.cache_hits(); }

  std::byte* allocate(int64_t bytes, std::string_view what) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const std::byte* from) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void fill(std::byte* to, std::byte value, int64_t bytes) override;
  void launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange> ranges) override;
  int mark() override { return device_.mark(); }
  void forget_marks() override { device_.forget_marks(); }
  double elapsed_us(int from, int to) override { return device_.elapsed_us(from, to); }

 private:
  cuda::CudaDevice device_;
  cuda::CubinLibrary library_;
};

}  // namespace stepc
