#pragma once

#include "codegen/cuda/program.h"
#include "runtime/cuda/cubin.h"
#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nvtx.h"
#include "runtime/gpu/device.h"
#include "runtime/object_cache.h"

#include <optional>

namespace stepc {

// A GPU. The driver must outlive it.
class CudaGpu : public GpuDevice {
 public:
  struct Libraries {
    std::optional<cuda::CublasLtApi> cublaslt;  // none: contractions are generated
    cuda::Nvtx nvtx;
  };
  // Throws UserError: no such device, one that no kernel is compiled for, a library that does not start. `cache` keeps
  // the algorithms that the library chooses.
  CudaGpu(const cuda::Driver& driver, int ordinal, Libraries libraries, ObjectCache cache);

  const cuda::DeviceInfo& info() const { return device_.info(); }
  int64_t free_bytes() const { return device_.free_bytes(); }
  // The kernels that are launched. Throws UserError where they are for another architecture.
  void load(std::span<const cuda::Cubin> cubins, cuda::Architecture architecture) {
    device_.load(cubins, architecture);
  }

  std::byte* allocate(int64_t bytes, std::string_view what) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const std::byte* from) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void fill(std::byte* to, std::byte value, int64_t bytes) override;
  void launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange> ranges) override;
  bool has_library() const override { return library_.has_value(); }
  std::unique_ptr<GpuWork> contraction(const Kernel& kernel, std::span<std::byte* const> buffers,
                                       DeviceRange workspace) override;
  std::unique_ptr<GpuWork> record(std::function<void()> work) override;
  void begin_range(const std::string& name) override;
  void end_range() override;
  int mark() override { return device_.mark(); }
  void forget_marks() override { device_.forget_marks(); }
  double elapsed_us(int from, int to) override { return device_.elapsed_us(from, to); }

 private:
  cuda::CudaDevice device_;
  std::optional<cuda::CublasLt> library_;
  cuda::Nvtx nvtx_;
  ObjectCache cache_;
};

}  // namespace stepc
