#pragma once

#include "codegen/cuda/program.h"
#include "runtime/gpu/device.h"
#include "runtime/simt/simt_device.h"

#include <chrono>
#include <vector>

namespace stepc {

// The SIMT target with a program loaded: every access of its kernels is checked, so that a kernel that misbehaves ends
// the launch with a FindingsError.
class SimtGpu : public GpuDevice {
 public:
  // Compiles what the cache lacks; throws as simt::Module does.
  SimtGpu(SimtOptions options, const cuda::Program& program);

  double compile_us() const { return compile_us_; }
  int64_t unit_count() const { return unit_count_; }
  int cache_hits() const { return device_.cache_hits(); }

  std::byte* allocate(int64_t bytes, std::string_view what) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const std::byte* from) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void fill(std::byte* to, std::byte value, int64_t bytes) override;
  void launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange> ranges) override;
  bool has_library() const override { return false; }
  std::unique_ptr<GpuWork> contraction(const Kernel& kernel, std::span<std::byte* const> buffers,
                                       DeviceRange workspace) override;
  std::unique_ptr<GpuWork> record(std::function<void()> work) override;
  void begin_range(const std::string&) override {}
  void end_range() override {}
  int mark() override;
  void forget_marks() override { marks_.clear(); }
  double elapsed_us(int from, int to) override;

 private:
  SimtDevice device_;
  int64_t unit_count_ = 0;
  double compile_us_ = 0;
  std::vector<std::chrono::steady_clock::time_point> marks_;
};

}  // namespace stepc
