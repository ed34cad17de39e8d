#pragma once

#include "codegen/cuda/kernel_text.h"
#include "ir/kernel.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepc::test {

// What a kernel's buffer holds before and after it runs.
struct DeviceBuffer {
  Dtype dtype{};
  int64_t count = 0;  // elements
  std::vector<std::byte> bytes;
  int64_t shift = 0;  // elements by which it lies off the allocation's alignment

  // Numbers of the dtype in [-1, 1], or integers in [-4, 4].
  static DeviceBuffer random(Dtype dtype, int64_t count, uint64_t seed);
  // To be written by the kernel: every byte 0xff.
  static DeviceBuffer empty(Dtype dtype, int64_t count);
  double at(int64_t index) const;
  void set(int64_t index, double value);
  bool is_empty_at(int64_t index) const;  // all bytes 0xff
};

// Kernels as CUDA text on the SIMT target: compiled together, each run in ascending, descending and random order of
// threads.
class KernelRuns {
 public:
  void add(const Kernel& kernel, const std::vector<cuda::StageText>& stages, std::vector<DeviceBuffer> buffers);
  // Expects no finding, and the same bits from every order.
  void run();
  // After run(), of the kernel that was added as number `run`.
  const std::vector<DeviceBuffer>& buffers(size_t run) const { return runs_[run].buffers; }
  // Expects the last buffer near `expected`, 1e-5 + `relative` of the largest magnitude, and nothing written where that
  // is NaN.
  void expect_near(size_t run, const std::vector<double>& expected, double relative) const;

 private:
  struct Stage {
    std::string symbol;
    int64_t grid;
    int32_t threads;
    int64_t shared_bytes;
  };
  struct Run {
    std::string label;
    std::vector<Stage> stages;
    std::vector<DeviceBuffer> buffers;
    int64_t scratch_bytes = 0;
  };
  std::vector<std::string> units() const;
  std::vector<std::string> symbols() const;

  std::vector<Run> runs_;
  std::vector<std::string> functions_;
};

}  // namespace stepc::test
