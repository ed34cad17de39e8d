#pragma once

#include "codegen/cuda/program.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

// Something that is put together once and enqueued again and again. Its device must outlive it.
class GpuWork {
 public:
  virtual ~GpuWork() = default;
  virtual void enqueue() = 0;
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

  // A contraction by the device's library: `buffers` hold the first elements of the kernel's, `workspace` is its own.
  // Only for kernels that is_planned_for_library(), and only where has_library(). Throws UserError where the library
  // has no algorithm within the workspace.
  virtual bool has_library() const = 0;
  virtual std::unique_ptr<GpuWork> contraction(const Kernel& kernel, std::span<std::byte* const> buffers,
                                               DeviceRange workspace) = 0;

  // What `work` enqueues, as one piece; nothing of it runs yet. Uploads, downloads, marks and allocations are not for
  // recordings, nor is what runs for the first time: drivers and libraries load code then.
  virtual std::unique_ptr<GpuWork> record(std::function<void()> work) = 0;

  // Names what is enqueued until the range ends, for timelines.
  virtual void begin_range(const std::string& name) = 0;
  virtual void end_range() = 0;

  // Marks the present end of the queue; marks count from 0, again after `forget_marks`.
  virtual int mark() = 0;
  virtual void forget_marks() = 0;
  virtual double elapsed_us(int from, int to) = 0;  // waits for the later one
};

}  // namespace stepc
