#pragma once

#include "runtime/cuda/architecture.h"
#include "runtime/cuda/cubin.h"
#include "runtime/cuda/driver.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepc::cuda {

using DevicePointer = unsigned long long;  // CUdeviceptr

struct DeviceInfo {
  std::string name;
  Architecture capability;    // of the device
  Architecture architecture;  // whose code it runs
  int64_t memory_bytes = 0;
  int64_t processors = 0;
  int64_t shared_bytes = 0;  // per block, with opt-in
};

// A step as one graph, which `CudaDevice::replay` launches. Its device must outlive it.
class StepGraph {
 public:
  StepGraph(const Driver& driver, CUgraphExec_st* executable) : executable_(executable, Destroy{&driver}) {}
  CUgraphExec_st* executable() const { return executable_.get(); }

 private:
  struct Destroy {
    const Driver* driver;
    void operator()(CUgraphExec_st* executable) const { driver->api.graph_exec_destroy(executable); }
  };
  std::unique_ptr<CUgraphExec_st, Destroy> executable_;
};

// One GPU: its memory, one stream, the kernels loaded on it. Everything is enqueued on the stream and runs in order.
// The context is that of the thread that made the device: use it from that thread alone. The driver must outlive it.
class CudaDevice {
 public:
  // Throws UserError: no such device, or one of an architecture that no kernel is compiled for.
  CudaDevice(const Driver& driver, int ordinal);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const Driver& driver() const { return driver_; }
  const DeviceInfo& info() const { return info_; }
  CUstream_st* stream() const { return stream_; }

  // Memory that lives as long as the device, aligned to 256 bytes; 0 for no bytes. Throws UserError with the bytes
  // asked and free where there is not enough.
  DevicePointer allocate(int64_t bytes, std::string_view what);
  int64_t free_bytes() const;

  // Returns once `from` may change; the copy itself goes on through pinned memory.
  void upload(DevicePointer to, std::span<const std::byte> from);
  // Waits for what was enqueued before.
  void download(std::span<std::byte> to, DevicePointer from);
  void copy(DevicePointer to, DevicePointer from, int64_t bytes);
  void fill(DevicePointer to, std::byte value, int64_t bytes);

  // Throws UserError where the device does not run code of this architecture.
  void load(std::span<const Cubin> cubins, Architecture architecture);
  // Blocks in x alone. Each of `arguments` points to the value of one parameter of the function.
  void launch(const std::string& symbol, int64_t blocks, int32_t threads, int64_t shared_bytes, void** arguments);

  // What `work` enqueues, as a graph; nothing of it runs yet. Uploads, downloads and allocations are not for graphs.
  StepGraph capture(const std::function<void()>& work);
  void replay(const StepGraph& graph);

  // Marks the present end of the stream; marks count from 0, again after `forget_marks`.
  int mark();
  void forget_marks() { marked_ = 0; }
  // Waits for the later of two marks.
  double elapsed_us(int from, int to) const;

  void synchronize() const;

 private:
  struct Staging {  // pinned memory on the way to or from the device
    void* memory = nullptr;
    CUevent_st* free = nullptr;  // recorded behind the copy that reads it
  };

  Staging& next_staging();
  void destroy();

  const Driver& driver_;
  DeviceInfo info_;
  int device_ = 0;
  CUstream_st* stream_ = nullptr;
  std::vector<DevicePointer> allocations_;
  std::array<Staging, 2> staging_{};
  size_t turn_ = 0;
  std::vector<CUmod_st*> modules_;
  std::map<std::string, CUfunc_st*, std::less<>> functions_;
  std::vector<CUevent_st*> marks_;  // the first `marked_` are in use
  size_t marked_ = 0;
};

}  // namespace stepc::cuda
