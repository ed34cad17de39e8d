#pragma once

#include "codegen/cuda/program.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// A piece of a device's memory that one parameter of a kernel may reach.
struct DeviceRange {
  std::byte* address = nullptr;
  int64_t bytes = 0;
};

// What runs generated CUDA: a GPU, or the SIMT target. Work is enqueued and runs in order; addresses are the device's.
class GpuDevice {
 public:
  virtual ~GpuDevice() = default;

  // Memory that lives as long as the device, aligned to 256 bytes. Throws UserError where there is not enough.
  virtual std::byte* allocate(int64_t bytes, std::string_view what) = 0;
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, const std::byte* from) = 0;  // waits for what was enqueued before
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  virtual void fill(std::byte* to, std::byte value, int64_t bytes) = 0;

  // Each of `arguments` points to the value of one parameter. `ranges`, one per parameter, is what it may reach, where
  // the device checks that.
  virtual void launch(const cuda::Stage& stage, void** arguments, std::span<const DeviceRange> ranges) = 0;

  // Marks the present end of the queue; marks count from 0, again after `forget_marks`.
  virtual int mark() = 0;
  virtual void forget_marks() = 0;
  virtual double elapsed_us(int from, int to) = 0;  // waits for the later one
};

}  // namespace stepc
