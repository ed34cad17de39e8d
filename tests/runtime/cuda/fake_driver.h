#pragma once

#include "runtime/cuda/driver.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace stepc::test {

// Stands in for the CUDA driver: device memory is memory of the host, kernels are functions of the test, and everything
// that is made must be destroyed. Copies outside of an allocation, work on a stream that does not exist, and what may
// not be recorded in a graph are refused as the driver refuses them.
class FakeDriver {
 public:
  struct Launch {
    unsigned int blocks = 0, threads = 0, shared_bytes = 0;
    std::vector<void*> arguments;  // the values, which are all pointers
  };
  struct Kernel {
    size_t parameters = 0;
    std::function<void(const Launch&)> run;
  };

  FakeDriver() = default;
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  cuda::DriverApi table();
  // What a library enqueues on a stream, under a name for `calls`; it takes as long as a kernel.
  int enqueue_library(CUstream_st* stream, const std::string& call, std::function<void()> work);
  // Device memory, as (address, bytes).
  const std::map<unsigned long long, size_t>& allocations() const { return memory_size_; }
  // Things made and not destroyed: allocations, modules, streams, events, graphs, contexts.
  size_t live_objects() const;

  // The machine.
  int version = 13000;
  int devices = 1;
  std::string name = "Fake H100";
  int major = 9, minor = 0, processors = 4, shared_bytes = 227 << 10;
  size_t memory_bytes = size_t{1} << 30;

  // By symbol. A module's image is the symbols of its functions, with a space between two.
  std::map<std::string, Kernel> kernels;
  // Modules have whatever is asked for, and it does nothing: for real cubins.
  bool runs_any_kernel = false;
  // By the name in DriverApi: the result of every further call.
  std::map<std::string, int> failures;

  // What was called, by the name in DriverApi, in order; launches carry their kernel: "launch_kernel scale".
  std::vector<std::string> calls;
  size_t count(const std::string& call) const;
  std::map<std::string, int> dynamic_shared_bytes;  // what functions were allowed, by symbol

 private:
  using Task = std::function<void()>;
  struct Function {
    std::string symbol;
  };

  int begin(const std::string& call);
  template <typename T>
  int make(T** handle);
  template <typename T>
  int destroy(T* handle);
  int enqueue(CUstream_st* stream, Task task);
  bool is_device_memory(unsigned long long address, size_t bytes) const;

  void add_queries(cuda::DriverApi& api);
  void add_memory(cuda::DriverApi& api);
  void add_copies(cuda::DriverApi& api);
  void add_modules(cuda::DriverApi& api);
  void add_streams(cuda::DriverApi& api);
  void add_graphs(cuda::DriverApi& api);
  void add_events(cuda::DriverApi& api);

  uintptr_t next_handle_ = 0x1000;
  std::set<uintptr_t> handles_;
  std::map<uintptr_t, std::vector<std::string>> modules_;
  std::map<uintptr_t, Function> functions_;
  std::map<uintptr_t, std::vector<Task>> graphs_;
  std::map<uintptr_t, double> event_us_;
  std::map<unsigned long long, std::vector<std::byte>> memory_;
  std::map<unsigned long long, size_t> memory_size_;
  std::map<void*, std::vector<std::byte>> pinned_;
  size_t used_bytes_ = 0;
  double clock_us_ = 0;
  bool capturing_ = false;
  std::vector<Task> captured_;
};

}  // namespace stepc::test
