#include "tests/runtime/cuda/fake_driver.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace stepc::test {
namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidHandle = 400;
constexpr int kCaptureUnsupported = 900;
constexpr unsigned long long kAlignment = 256;  // of device memory
constexpr double kKernelUs = 10;                // what a launch takes on the fake's clock

template <typename T>
uintptr_t number(T* handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

}  // namespace

size_t FakeDriver::live_objects() const { return handles_.size() + memory_.size() + pinned_.size(); }

size_t FakeDriver::count(const std::string& call) const {
  return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
}

int FakeDriver::begin(const std::string& call) {
  calls.push_back(call);
  const auto failure = failures.find(call);
  return failure == failures.end() ? cuda::kSuccess : failure->second;
}

template <typename T>
int FakeDriver::make(T** handle) {
  next_handle_ += 0x10;
  handles_.insert(next_handle_);
  *handle = reinterpret_cast<T*>(next_handle_);
  return cuda::kSuccess;
}

template <typename T>
int FakeDriver::destroy(T* handle) {
  return handles_.erase(number(handle)) == 1 ? cuda::kSuccess : kInvalidHandle;
}

int FakeDriver::enqueue(CUstream_st* stream, Task task) {
  if (!handles_.contains(number(stream))) return kInvalidHandle;
  if (capturing_)
    captured_.push_back(std::move(task));
  else
    task();
  return cuda::kSuccess;
}

int FakeDriver::enqueue_library(CUstream_st* stream, const std::string& call, Task work) {
  if (const int failure = begin(call)) return failure;
  return enqueue(stream, [this, work = std::move(work)] {
    work();
    clock_us_ += kKernelUs;
  });
}

bool FakeDriver::is_device_memory(unsigned long long address, size_t bytes) const {
  auto at = memory_size_.upper_bound(address);
  if (at == memory_size_.begin()) return false;
  --at;
  return address - at->first <= at->second && bytes <= at->second - (address - at->first);
}

void FakeDriver::add_queries(cuda::DriverApi& api) {
  api.init = [this](unsigned int) { return begin("init"); };
  api.driver_get_version = [this](int* value) { return *value = version, begin("driver_get_version"); };
  api.get_error_name = [](int result, const char** text) {
    *text = result == cuda::kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return 0;
  };
  api.get_error_string = [](int, const char** text) { return *text = "as the fake was told", 0; };
  api.device_get_count = [this](int* count) { return *count = devices, begin("device_get_count"); };
  api.device_get = [this](int* device, int ordinal) { return *device = 70 + ordinal, begin("device_get"); };
  api.device_get_name = [this](char* to, int bytes, int) {
    std::strncpy(to, name.c_str(), static_cast<size_t>(bytes));
    return begin("device_get_name");
  };
  api.device_total_mem = [this](size_t* bytes, int) { return *bytes = memory_bytes, begin("device_total_mem"); };
  api.device_get_attribute = [this](int* value, int attribute, int) {
    const std::map<int, int> values{{16, processors}, {75, major}, {76, minor}, {97, shared_bytes}};
    const auto found = values.find(attribute);
    if (found == values.end()) return kInvalidValue;
    *value = found->second;
    return begin("device_get_attribute");
  };
  api.primary_ctx_retain = [this](CUctx_st** context, int device) {
    if (const int failure = begin("primary_ctx_retain")) return failure;
    handles_.insert(static_cast<uintptr_t>(device));
    *context = reinterpret_cast<CUctx_st*>(static_cast<uintptr_t>(device));
    return 0;
  };
  api.primary_ctx_release = [this](int device) {
    begin("primary_ctx_release");
    return handles_.erase(static_cast<uintptr_t>(device)) == 1 ? 0 : kInvalidValue;
  };
  api.ctx_set_current = [this](CUctx_st* context) {
    return handles_.contains(number(context)) ? begin("ctx_set_current") : kInvalidHandle;
  };
}

void FakeDriver::add_memory(cuda::DriverApi& api) {
  api.mem_get_info = [this](size_t* free, size_t* total) {
    *free = memory_bytes - used_bytes_;
    *total = memory_bytes;
    return begin("mem_get_info");
  };
  api.mem_alloc = [this](unsigned long long* address, size_t bytes) {
    if (const int failure = begin("mem_alloc")) return failure;
    if (capturing_) return kCaptureUnsupported;
    if (bytes > memory_bytes - used_bytes_) return int{cuda::kOutOfMemory};
    std::vector<std::byte> memory(bytes + kAlignment, std::byte{0xff});
    *address = (reinterpret_cast<unsigned long long>(memory.data()) + kAlignment - 1) / kAlignment * kAlignment;
    memory_.emplace(*address, std::move(memory));
    memory_size_.emplace(*address, bytes);
    used_bytes_ += bytes;
    return 0;
  };
  api.mem_free = [this](unsigned long long address) {
    begin("mem_free");
    if (memory_.erase(address) == 0) return kInvalidValue;
    used_bytes_ -= memory_size_[address];
    memory_size_.erase(address);
    return 0;
  };
  api.mem_alloc_host = [this](void** address, size_t bytes) {
    if (const int failure = begin("mem_alloc_host")) return failure;
    std::vector<std::byte> memory(bytes);
    *address = memory.data();
    pinned_.emplace(*address, std::move(memory));
    return 0;
  };
  api.mem_free_host = [this](void* address) {
    begin("mem_free_host");
    return pinned_.erase(address) == 1 ? 0 : kInvalidValue;
  };
}

void FakeDriver::add_copies(cuda::DriverApi& api) {
  const auto bytes_at = [](unsigned long long address) { return reinterpret_cast<void*>(address); };
  api.memcpy_to_device = [=, this](unsigned long long to, const void* from, size_t bytes, CUstream_st* stream) {
    if (const int failure = begin("memcpy_to_device")) return failure;
    if (!is_device_memory(to, bytes)) return kInvalidValue;
    return enqueue(stream, [=] { std::memcpy(bytes_at(to), from, bytes); });
  };
  api.memcpy_to_host = [=, this](void* to, unsigned long long from, size_t bytes, CUstream_st* stream) {
    if (const int failure = begin("memcpy_to_host")) return failure;
    if (!is_device_memory(from, bytes)) return kInvalidValue;
    return enqueue(stream, [=] { std::memcpy(to, bytes_at(from), bytes); });
  };
  api.memcpy_on_device = [=, this](unsigned long long to, unsigned long long from, size_t bytes, CUstream_st* stream) {
    if (const int failure = begin("memcpy_on_device")) return failure;
    if (!is_device_memory(from, bytes) || !is_device_memory(to, bytes)) return kInvalidValue;
    return enqueue(stream, [=] { std::memmove(bytes_at(to), bytes_at(from), bytes); });
  };
  api.memset_bytes = [=, this](unsigned long long to, unsigned char value, size_t bytes, CUstream_st* stream) {
    if (const int failure = begin("memset_bytes")) return failure;
    if (!is_device_memory(to, bytes)) return kInvalidValue;
    return enqueue(stream, [=] { std::memset(bytes_at(to), value, bytes); });
  };
}

void FakeDriver::add_modules(cuda::DriverApi& api) {
  api.module_load_data = [this](CUmod_st** module, const void* image) {
    if (const int failure = begin("module_load_data")) return failure;
    make(module);
    if (runs_any_kernel) return 0;
    std::istringstream symbols(static_cast<const char*>(image));
    for (std::string symbol; symbols >> symbol;) modules_[number(*module)].push_back(symbol);
    return 0;
  };
  api.module_unload = [this](CUmod_st* module) {
    begin("module_unload");
    modules_.erase(number(module));
    return destroy(module);
  };
  api.module_get_function = [this](CUfunc_st** function, CUmod_st* module, const char* symbol) {
    if (const int failure = begin("module_get_function")) return failure;
    const std::vector<std::string>& symbols = modules_[number(module)];
    if (!runs_any_kernel && std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      return int{cuda::kNotFound};
    next_handle_ += 0x10;
    functions_[next_handle_] = {symbol};
    *function = reinterpret_cast<CUfunc_st*>(next_handle_);
    return 0;
  };
  api.func_set_attribute = [this](CUfunc_st* function, int attribute, int value) {
    if (const int failure = begin("func_set_attribute")) return failure;
    if (attribute != 8 || value > shared_bytes) return kInvalidValue;
    dynamic_shared_bytes[functions_.at(number(function)).symbol] = value;
    return 0;
  };
  api.launch_kernel = [this](CUfunc_st* function, unsigned int x, unsigned int y, unsigned int z, unsigned int threads,
                             unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream_st* stream,
                             void** arguments, void** extra) {
    const std::string symbol = functions_.at(number(function)).symbol;
    calls.push_back("launch_kernel " + symbol);
    if (const auto failure = failures.find("launch_kernel"); failure != failures.end()) return failure->second;
    if (x == 0 || y != 1 || z != 1 || block_y != 1 || block_z != 1 || threads > 1024 || extra != nullptr ||
        static_cast<int>(shared) > std::max(48 << 10, dynamic_shared_bytes[symbol]))
      return kInvalidValue;
    if (runs_any_kernel) return enqueue(stream, [this] { clock_us_ += kKernelUs; });
    const Kernel& kernel = kernels.at(symbol);
    Launch launch{x, threads, shared, {}};
    // The values are taken now, as the driver does, also for a graph.
    for (size_t i = 0; i < kernel.parameters; ++i) launch.arguments.push_back(*static_cast<void**>(arguments[i]));
    return enqueue(stream, [this, &kernel, launch] {
      kernel.run(launch);
      clock_us_ += kKernelUs;
    });
  };
}

void FakeDriver::add_streams(cuda::DriverApi& api) {
  api.stream_create = [this](CUstream_st** stream, unsigned int) {
    const int failure = begin("stream_create");
    return failure != 0 ? failure : make(stream);
  };
  api.stream_destroy = [this](CUstream_st* stream) { return begin("stream_destroy"), destroy(stream); };
  api.stream_synchronize = [this](CUstream_st* stream) {
    if (const int failure = begin("stream_synchronize")) return failure;
    if (capturing_) return kCaptureUnsupported;
    return handles_.contains(number(stream)) ? 0 : kInvalidHandle;
  };
}

void FakeDriver::add_graphs(cuda::DriverApi& api) {
  api.stream_begin_capture = [this](CUstream_st*, int) {
    if (const int failure = begin("stream_begin_capture")) return failure;
    if (capturing_) return kCaptureUnsupported;
    capturing_ = true;
    captured_.clear();
    return 0;
  };
  api.stream_end_capture = [this](CUstream_st*, CUgraph_st** graph) {
    capturing_ = false;
    if (const int failure = begin("stream_end_capture")) return failure;
    make(graph);
    graphs_[number(*graph)] = std::move(captured_);
    return 0;
  };
  api.graph_instantiate = [this](CUgraphExec_st** executable, CUgraph_st* graph, unsigned long long) {
    if (const int failure = begin("graph_instantiate")) return failure;
    make(executable);
    graphs_[number(*executable)] = graphs_.at(number(graph));
    return 0;
  };
  api.graph_launch = [this](CUgraphExec_st* executable, CUstream_st* stream) {
    if (const int failure = begin("graph_launch")) return failure;
    return enqueue(stream, [tasks = graphs_.at(number(executable))] {
      for (const Task& task : tasks) task();
    });
  };
  api.graph_destroy = [this](CUgraph_st* graph) { return begin("graph_destroy"), destroy(graph); };
  api.graph_exec_destroy = [this](CUgraphExec_st* executable) {
    return begin("graph_exec_destroy"), destroy(executable);
  };
}

void FakeDriver::add_events(cuda::DriverApi& api) {
  api.event_create = [this](CUevent_st** event, unsigned int) {
    const int failure = begin("event_create");
    return failure != 0 ? failure : make(event);
  };
  api.event_record = [this](CUevent_st* event, CUstream_st* stream) {
    if (const int failure = begin("event_record")) return failure;
    return enqueue(stream, [this, event] { event_us_[number(event)] = clock_us_; });
  };
  api.event_synchronize = [this](CUevent_st* event) {
    if (const int failure = begin("event_synchronize")) return failure;
    return handles_.contains(number(event)) ? 0 : kInvalidHandle;
  };
  api.event_elapsed_time = [this](float* milliseconds, CUevent_st* from, CUevent_st* to) {
    *milliseconds = static_cast<float>((event_us_[number(to)] - event_us_[number(from)]) / 1e3);
    return begin("event_elapsed_time");
  };
  api.event_destroy = [this](CUevent_st* event) { return begin("event_destroy"), destroy(event); };
}

cuda::DriverApi FakeDriver::table() {
  cuda::DriverApi api;
  add_queries(api);
  add_memory(api);
  add_copies(api);
  add_modules(api);
  add_streams(api);
  add_graphs(api);
  add_events(api);
  return api;
}

}  // namespace stepc::test
