#include "runtime/cuda/device.h"

#include "ir/support/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace stepc::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{8} << 20;

constexpr int64_t kMostThreads = 1024;

DeviceInfo describe(const Driver& driver, int device) {
  const auto attribute = [&](int number) {
    int value = 0;
    driver.check(driver.api.device_get_attribute(&value, number, device), "asking for the GPU's properties");
    return value;
  };
  std::array<char, 256> name{};
  driver.check(driver.api.device_get_name(name.data(), static_cast<int>(name.size()) - 1, device),
               "asking for the GPU's name");
  size_t memory = 0;
  driver.check(driver.api.device_total_mem(&memory, device), "asking for the GPU's memory");
  DeviceInfo info{.name = name.data(),
                  .capability = {attribute(kDeviceCapabilityMajor), attribute(kDeviceCapabilityMinor)},
                  .architecture = {},
                  .memory_bytes = static_cast<int64_t>(memory),
                  .processors = attribute(kDeviceProcessorCount),
                  .shared_bytes = attribute(kDeviceSharedBytesOptIn)};
  const auto architecture = architecture_for(info.capability);
  if (!architecture)
    user_error("GPU '{}' is {}, for which no kernels are compiled; they are for {}", info.name, info.capability.name(),
               architecture_names());
  info.architecture = *architecture;
  return info;
}

}  // namespace

CudaDevice::CudaDevice(const Driver& driver, int ordinal) : driver_(driver) {
  if (ordinal < 0 || ordinal >= driver.device_count())
    user_error("there is no GPU {}; the driver sees {}, counted from 0", ordinal, driver.device_count());
  driver_.check(driver_.api.device_get(&device_, ordinal), "opening the GPU");
  info_ = describe(driver_, device_);
  CUctx_st* context = nullptr;
  driver_.check(driver_.api.primary_ctx_retain(&context, device_), "making a context on the GPU");
  try {
    driver_.check(driver_.api.ctx_set_current(context), "making a context current");
    driver_.check(driver_.api.stream_create(&stream_, kStreamNonBlocking), "making a stream");
    for (Staging& staging : staging_) {
      driver_.check(driver_.api.mem_alloc_host(&staging.memory, kStagingBytes), "taking pinned memory");
      driver_.check(driver_.api.event_create(&staging.free, kEventDisableTiming), "making an event");
    }
  } catch (...) {
    destroy();
    throw;
  }
}

CudaDevice::~CudaDevice() { destroy(); }

// What a failed kernel left behind cannot be freed one by one: results are not looked at.
void CudaDevice::destroy() {
  const DriverApi& api = driver_.api;
  if (stream_ != nullptr) api.stream_synchronize(stream_);
  for (CUevent_st* mark : marks_) api.event_destroy(mark);
  for (CUmod_st* module : modules_) api.module_unload(module);
  for (const DevicePointer address : allocations_) api.mem_free(address);
  for (const Staging& staging : staging_) {
    if (staging.free != nullptr) api.event_destroy(staging.free);
    if (staging.memory != nullptr) api.mem_free_host(staging.memory);
  }
  if (stream_ != nullptr) api.stream_destroy(stream_);
  api.primary_ctx_release(device_);
}

int64_t CudaDevice::free_bytes() const {
  size_t free = 0;
  size_t total = 0;
  driver_.check(driver_.api.mem_get_info(&free, &total), "asking for free memory");
  return static_cast<int64_t>(free);
}

DevicePointer CudaDevice::allocate(int64_t bytes, std::string_view what) {
  if (bytes == 0) return 0;
  DevicePointer address = 0;
  const int result = driver_.api.mem_alloc(&address, static_cast<size_t>(bytes));
  if (result == kOutOfMemory) {
    const auto gib = [](int64_t count) { return static_cast<double>(count) / (1 << 30); };
    const int64_t free = free_bytes();
    user_error(
        "{}: {} bytes ({:.2f} GiB) asked, {} bytes ({:.2f} GiB) of GPU '{}' free; free memory there, or lower "
        "--memory-budget or the batch",
        what, bytes, gib(bytes), free, gib(free), info_.name);
  }
  driver_.check(result, what);
  allocations_.push_back(address);
  return address;
}

CudaDevice::Staging& CudaDevice::next_staging() {
  Staging& staging = staging_[turn_++ % staging_.size()];
  driver_.check(driver_.api.event_synchronize(staging.free), "waiting for a copy");
  return staging;
}

void CudaDevice::upload(DevicePointer to, std::span<const std::byte> from) {
  while (!from.empty()) {
    const size_t bytes = std::min(from.size(), kStagingBytes);
    Staging& staging = next_staging();
    std::memcpy(staging.memory, from.data(), bytes);
    driver_.check(driver_.api.memcpy_to_device(to, staging.memory, bytes, stream_), "copying to the GPU");
    driver_.check(driver_.api.event_record(staging.free, stream_), "copying to the GPU");
    from = from.subspan(bytes);
    to += bytes;
  }
}

void CudaDevice::download(std::span<std::byte> to, DevicePointer from) {
  while (!to.empty()) {
    const size_t bytes = std::min(to.size(), kStagingBytes);
    Staging& staging = next_staging();
    driver_.check(driver_.api.memcpy_to_host(staging.memory, from, bytes, stream_), "copying from the GPU");
    synchronize();
    std::memcpy(to.data(), staging.memory, bytes);
    to = to.subspan(bytes);
    from += bytes;
  }
}

void CudaDevice::copy(DevicePointer to, DevicePointer from, int64_t bytes) {
  if (bytes > 0)
    driver_.check(driver_.api.memcpy_on_device(to, from, static_cast<size_t>(bytes), stream_), "copying on the GPU");
}

void CudaDevice::fill(DevicePointer to, std::byte value, int64_t bytes) {
  if (bytes > 0)
    driver_.check(driver_.api.memset_bytes(to, static_cast<unsigned char>(value), static_cast<size_t>(bytes), stream_),
                  "filling memory of the GPU");
}

void CudaDevice::load(std::span<const Cubin> cubins, Architecture architecture) {
  if (architecture.major != info_.capability.major || architecture.minor > info_.capability.minor)
    user_error("the kernels are compiled for {}, GPU '{}' is {}; compile with --target cuda:{}", architecture.name(),
               info_.name, info_.capability.name(), info_.architecture.name());
  for (const Cubin& cubin : cubins) {
    CUmod_st* module = nullptr;
    driver_.check(driver_.api.module_load_data(&module, cubin.image.data()), "loading kernels");
    modules_.push_back(module);
    for (const FunctionFigures& figures : cubin.functions) {
      CUfunc_st* function = nullptr;
      driver_.check(driver_.api.module_get_function(&function, module, figures.symbol.c_str()),
                    "looking for kernel " + figures.symbol);
      // Without this more than 48 KiB per block are refused.
      driver_.check(driver_.api.func_set_attribute(function, kFunctionDynamicSharedBytes,
                                                   static_cast<int>(info_.shared_bytes - figures.shared_bytes)),
                    "allowing shared memory to kernel " + figures.symbol);
      functions_.emplace(figures.symbol, function);
    }
  }
}

void CudaDevice::launch(const std::string& symbol, int64_t blocks, int32_t threads, int64_t shared_bytes,
                        void** arguments) {
  const auto function = functions_.find(symbol);
  CHECK(function != functions_.end(), "no kernel {}", symbol);
  CHECK(blocks > 0 && blocks <= std::numeric_limits<int32_t>::max() && threads > 0 && threads <= kMostThreads &&
            shared_bytes >= 0 && shared_bytes <= info_.shared_bytes,
        "{}: {} blocks of {} threads with {} bytes of shared memory", symbol, blocks, threads, shared_bytes);
  driver_.check(driver_.api.launch_kernel(function->second, static_cast<unsigned int>(blocks), 1, 1,
                                          static_cast<unsigned int>(threads), 1, 1,
                                          static_cast<unsigned int>(shared_bytes), stream_, arguments, nullptr),
                "launching kernel " + symbol);
}

StepGraph CudaDevice::capture(const std::function<void()>& work) {
  driver_.check(driver_.api.stream_begin_capture(stream_, kCaptureThreadLocal), "recording a step");
  CUgraph_st* graph = nullptr;
  try {
    work();
  } catch (...) {
    driver_.api.stream_end_capture(stream_, &graph);
    if (graph != nullptr) driver_.api.graph_destroy(graph);
    throw;
  }
  driver_.check(driver_.api.stream_end_capture(stream_, &graph), "recording a step");
  CUgraphExec_st* executable = nullptr;
  const int result = driver_.api.graph_instantiate(&executable, graph, 0);
  driver_.api.graph_destroy(graph);
  driver_.check(result, "making a graph of a step");
  return {driver_, executable};
}

void CudaDevice::replay(const StepGraph& graph) {
  driver_.check(driver_.api.graph_launch(graph.executable(), stream_), "launching a step");
}

int CudaDevice::mark() {
  if (marked_ == marks_.size()) {
    CUevent_st* event = nullptr;
    driver_.check(driver_.api.event_create(&event, 0), "making an event");
    marks_.push_back(event);
  }
  driver_.check(driver_.api.event_record(marks_[marked_], stream_), "recording an event");
  return static_cast<int>(marked_++);
}

double CudaDevice::elapsed_us(int from, int to) const {
  const auto mark = [&](int number) {
    CHECK(number >= 0 && static_cast<size_t>(number) < marked_, "mark {} of {}", number, marked_);
    return marks_[static_cast<size_t>(number)];
  };
  float milliseconds = 0;
  driver_.check(driver_.api.event_synchronize(mark(to)), "waiting for the GPU");
  driver_.check(driver_.api.event_elapsed_time(&milliseconds, mark(from), mark(to)), "measuring time");
  return 1e3 * static_cast<double>(milliseconds);
}

void CudaDevice::synchronize() const { driver_.check(driver_.api.stream_synchronize(stream_), "waiting for the GPU"); }

}  // namespace stepc::cuda
