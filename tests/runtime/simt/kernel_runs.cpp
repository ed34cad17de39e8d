#include "tests/runtime/simt/kernel_runs.h"

#include "codegen/scalar_text.h"
#include "ir/half.h"
#include "runtime/simt/simt_device.h"
#include "tests/runtime/simt/simt_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string_view>
#include <type_traits>

namespace stepc {

extern const std::string_view cuda_device_source[];
extern const std::string_view* const cuda_device_source_end;

}  // namespace stepc

namespace stepc::test {
namespace {

template <typename F>
auto with_type(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f32: return f(float{});
    case Dtype::f64: return f(double{});
    case Dtype::i64: return f(int64_t{});
    case Dtype::i32: return f(int32_t{});
    case Dtype::i8: return f(int8_t{});
    case Dtype::f16:
    case Dtype::bf16: return f(uint16_t{});
    case Dtype::u8:
    case Dtype::boolean: return f(uint8_t{});
  }
  return f(uint8_t{});
}

// The buffers of one run in a device's memory, and pointers to them as a launch wants them.
class DeviceCopies {
 public:
  DeviceCopies(SimtDevice& device, const std::vector<DeviceBuffer>& buffers, int64_t scratch_bytes) : device_(device) {
    for (const DeviceBuffer& buffer : buffers) {
      const auto shift = static_cast<size_t>(buffer.shift * dtype_bytes(buffer.dtype));
      auto* const base = static_cast<std::byte*>(allocate(static_cast<int64_t>(buffer.bytes.size() + shift)));
      std::memcpy(base + shift, buffer.bytes.data(), buffer.bytes.size());
      pointers_.push_back(base + shift);
    }
    pointers_.push_back(allocate(scratch_bytes));
    pointers_.push_back(nullptr);  // no kernel here refuses an index
    for (void*& pointer : pointers_) arguments_.push_back(&pointer);
  }
  ~DeviceCopies() {
    for (void* base : allocated_) device_.release(base);
  }
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  void* const* arguments() const { return arguments_.data(); }
  void fetch(std::vector<DeviceBuffer>& buffers) const {
    for (size_t i = 0; i < buffers.size(); ++i)
      std::memcpy(buffers[i].bytes.data(), pointers_[i], buffers[i].bytes.size());
  }

 private:
  void* allocate(int64_t bytes) {
    allocated_.push_back(device_.allocate(bytes));
    return allocated_.back();
  }

  SimtDevice& device_;
  std::vector<void*> allocated_, pointers_, arguments_;
};

}  // namespace

DeviceBuffer DeviceBuffer::empty(Dtype dtype, int64_t count) {
  return {dtype, count, std::vector<std::byte>(static_cast<size_t>(count * dtype_bytes(dtype)), std::byte{0xff})};
}

DeviceBuffer DeviceBuffer::random(Dtype dtype, int64_t count, uint64_t seed) {
  DeviceBuffer buffer = empty(dtype, count);
  std::mt19937_64 bits(seed);
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(bits() >> 11) * 0x1p-52 - 1;  // [-1, 1)
    buffer.set(i, is_float(dtype) ? unit : std::round(4 * unit));
  }
  return buffer;
}

double DeviceBuffer::at(int64_t index) const {
  return with_type(dtype, [&](auto value) {
    std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(value), sizeof(value));
    if constexpr (std::is_same_v<decltype(value), uint16_t>)
      return static_cast<double>(dtype == Dtype::bf16 ? bf16_to_f32(value) : f16_to_f32(value));
    return static_cast<double>(value);
  });
}

void DeviceBuffer::set(int64_t index, double number) {
  with_type(dtype, [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), uint16_t>)
      value = dtype == Dtype::bf16 ? f32_to_bf16(static_cast<float>(number)) : f32_to_f16(static_cast<float>(number));
    else
      value = static_cast<decltype(value)>(number);
    std::memcpy(bytes.data() + static_cast<size_t>(index) * sizeof(value), &value, sizeof(value));
  });
}

bool DeviceBuffer::is_empty_at(int64_t index) const {
  const int64_t size = dtype_bytes(dtype);
  const auto first = bytes.begin() + index * size;
  return std::all_of(first, first + size, [](std::byte byte) { return byte == std::byte{0xff}; });
}

void KernelRuns::add(const Kernel& kernel, const std::vector<cuda::StageText>& stages,
                     std::vector<DeviceBuffer> buffers) {
  std::string parameters;
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    parameters +=
        fmt::format("{}{}* b{}, ", kernel.buffers[i].written ? "" : "const ", storage_type(kernel.buffers[i].dtype), i);
  Run run{kernel.label, {}, std::move(buffers), kernel.scratch_bytes};
  for (const cuda::StageText& stage : stages) {
    const std::string symbol = fmt::format("kernel_{}_{}", runs_.size(), run.stages.size());
    Text text;
    text.open("extern \"C\" __global__ void {}({}char* scratch, void* error)", symbol, parameters);
    text.paste(stage.body.str());
    text.close();
    functions_.push_back(text.str());
    run.stages.push_back({symbol, stage.grid, stage.threads, stage.shared_bytes});
  }
  runs_.push_back(std::move(run));
}

// Two, to be compiled at a time.
std::vector<std::string> KernelRuns::units() const {
  std::string prologue;
  for (const std::string_view* part = cuda_device_source; part != cuda_device_source_end; ++part) prologue += *part;
  prologue += "using namespace stepc_device;\n";
  std::vector<std::string> units(std::min<size_t>(2, functions_.size()), prologue);
  for (size_t i = 0; i < functions_.size(); ++i) units[i % units.size()] += functions_[i];
  return units;
}

std::vector<std::string> KernelRuns::symbols() const {
  std::vector<std::string> symbols;
  for (const Run& run : runs_)
    for (const Stage& stage : run.stages) symbols.push_back(stage.symbol);
  return symbols;
}

void KernelRuns::run() {
  std::vector<std::vector<DeviceBuffer>> first;
  for (const simt::Order order : kOrders) {
    SimtDevice device({.order = order, .seed = 7, .compile = {}});
    device.load(units(), symbols());
    for (size_t i = 0; i < runs_.size(); ++i) {
      std::vector<DeviceBuffer> buffers = runs_[i].buffers;
      const DeviceCopies copies(device, buffers, runs_[i].scratch_bytes);
      for (const Stage& stage : runs_[i].stages)
        EXPECT_NO_THROW(
            device.launch({stage.symbol, stage.grid, stage.threads, stage.shared_bytes}, copies.arguments()))
            << runs_[i].label;
      copies.fetch(buffers);
      if (order == simt::Order::ascending)
        first.push_back(std::move(buffers));
      else
        for (size_t b = 0; b < buffers.size(); ++b)
          EXPECT_EQ(buffers[b].bytes, first[i][b].bytes)
              << runs_[i].label << ": buffer " << b << " depends on the order";
    }
  }
  for (size_t i = 0; i < runs_.size(); ++i) runs_[i].buffers = std::move(first[i]);
}

void KernelRuns::expect_near(size_t run, const std::vector<double>& expected, double relative) const {
  const DeviceBuffer& result = runs_[run].buffers.back();
  double largest = 0;
  for (const double value : expected)
    if (!std::isnan(value)) largest = std::max(largest, std::abs(value));
  const double tolerance = is_float(result.dtype) ? 1e-5 + relative * largest : 0;
  int64_t wrong = 0, first_wrong = -1;
  for (int64_t i = 0; i < result.count; ++i) {
    const double value = expected[static_cast<size_t>(i)];
    const bool right = std::isnan(value) ? result.is_empty_at(i) : std::abs(result.at(i) - value) <= tolerance;
    if (!right && wrong++ == 0) first_wrong = i;
  }
  EXPECT_EQ(wrong, 0) << runs_[run].label << ": first at " << first_wrong << ": "
                      << result.at(std::max<int64_t>(first_wrong, 0)) << ", expected "
                      << expected[static_cast<size_t>(std::max<int64_t>(first_wrong, 0))];
}

}  // namespace stepc::test
