// A device on the fake driver: memory, modules, packed arguments, graphs, timing, and what can go wrong.
#include "runtime/cuda/device.h"
#include "ir/support/error.h"
#include "tests/runtime/cuda/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

namespace stepc::test {
namespace {

using cuda::Cubin;
using cuda::CudaDevice;
using cuda::DevicePointer;
using testing::HasSubstr;

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_.kernels["add_one"] = {1, [](const FakeDriver::Launch& launch) { ++*static_cast<int*>(launch.arguments[0]); }};
    fake_.kernels["store"] = {4, [this](const FakeDriver::Launch& launch) { seen_ = launch; }};
    open();
  }
  void TearDown() override {
    device_.reset();
    EXPECT_EQ(fake_.live_objects(), 0U) << "something was not freed";
  }
  void open() {
    device_.reset();
    driver_.emplace(fake_.table());
    device_.emplace(*driver_, 0);
  }
  void load() {
    device_->load(
        std::vector<Cubin>{{"add_one store", {{.symbol = "add_one"}, {.symbol = "store", .shared_bytes = 1024}}}},
        {9, 0});
  }
  template <typename T>
  std::string refusal(T&& f) const {
    try {
      f();
      return "accepted";
    } catch (const UserError& error) {
      return error.what();
    }
  }
  int read(DevicePointer address) {
    int value = 0;
    device_->download(std::as_writable_bytes(std::span(&value, 1)), address);
    return value;
  }
  DevicePointer counter() {
    const DevicePointer address = device_->allocate(sizeof(int), "a counter");
    device_->fill(address, std::byte{0}, sizeof(int));
    return address;
  }

  FakeDriver fake_;
  std::optional<cuda::Driver> driver_;
  std::optional<CudaDevice> device_;
  FakeDriver::Launch seen_;
};

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  const cuda::DeviceInfo& info = device_->info();
  EXPECT_EQ(info.name, "Fake H100");
  EXPECT_EQ(info.architecture.name(), "sm_90");
  EXPECT_EQ(info.memory_bytes, 1 << 30);
  EXPECT_EQ(info.processors, 4);
  EXPECT_EQ(info.shared_bytes, 227 << 10);
}

TEST_F(CudaDeviceTest, RunsTheCodeOfAnOlderSibling) {
  fake_.major = 8;
  fake_.minor = 7;
  open();
  EXPECT_EQ(device_->info().architecture.name(), "sm_86");
}

TEST_F(CudaDeviceTest, AnUnknownArchitectureIsOneLine) {
  fake_.major = 11;
  EXPECT_EQ(refusal([&] { open(); }),
            "GPU 'Fake H100' is sm_110, for which no kernels are compiled; they are for sm_80, sm_86, sm_89, sm_90, "
            "sm_100, sm_120");
}

TEST_F(CudaDeviceTest, ADeviceThatIsNotThereIsOneLine) {
  EXPECT_EQ(refusal([&] { const CudaDevice device(*driver_, 3); }),
            "there is no GPU 3; the driver sees 1, counted from 0");
}

TEST_F(CudaDeviceTest, AFullDeviceSaysWhatIsAskedAndFree) {
  device_->allocate(int64_t{1} << 29, "the persistent region");
  EXPECT_EQ(
      refusal([&] { device_->allocate(int64_t{3} << 28, "the arena"); }),
      "the arena: 805306368 bytes (0.75 GiB) asked, 536870912 bytes (0.50 GiB) of GPU 'Fake H100' free; free memory "
      "there, or lower --memory-budget or the batch");
  EXPECT_EQ(device_->free_bytes(), 1 << 29);
  EXPECT_EQ(device_->allocate(0, "nothing"), 0U);
}

TEST_F(CudaDeviceTest, WhatFailsWhileOpeningLeavesNothingBehind) {
  for (const char* call : {"primary_ctx_retain", "stream_create", "mem_alloc_host", "event_create"}) {
    device_.reset();
    fake_.failures = {{call, 999}};
    EXPECT_THAT(refusal([&] { open(); }), HasSubstr("CUDA_ERROR_FAKE")) << call;
    EXPECT_EQ(fake_.live_objects(), 0U) << call;
  }
}

// More than two pinned buffers hold, and not a multiple of one.
TEST_F(CudaDeviceTest, UploadsAndDownloadsGoThroughPinnedMemory) {
  std::vector<int> values((size_t{21} << 20) / sizeof(int) + 3);
  std::iota(values.begin(), values.end(), 1);
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(int));
  const DevicePointer address = device_->allocate(2 * bytes, "a test");
  device_->upload(address, std::as_bytes(std::span(values)));
  device_->copy(address + static_cast<DevicePointer>(bytes), address, bytes);
  std::vector<int> result(values.size());
  device_->download(std::as_writable_bytes(std::span(result)), address + static_cast<DevicePointer>(bytes));
  EXPECT_EQ(result, values);
  EXPECT_EQ(fake_.count("memcpy_to_device"), 3U);
  EXPECT_EQ(fake_.count("mem_alloc_host"), 2U);
  EXPECT_THAT(refusal([&] {
                device_->upload(address + static_cast<DevicePointer>(bytes) + 4, std::as_bytes(std::span(values)));
              }),
              HasSubstr("copying to the GPU"));
}

TEST_F(CudaDeviceTest, ArgumentsArePackedAsValues) {
  load();
  int a = 0;
  int b = 0;
  void* const values[] = {&a, &b, nullptr, &a};
  void* arguments[4];
  for (size_t i = 0; i < 4; ++i) arguments[i] = const_cast<void**>(&values[i]);
  device_->launch("store", 70000, 256, 200 << 10, arguments);
  EXPECT_EQ(seen_.blocks, 70000U);
  EXPECT_EQ(seen_.threads, 256U);
  EXPECT_EQ(seen_.shared_bytes, 200U << 10);
  EXPECT_EQ(seen_.arguments, (std::vector<void*>{&a, &b, nullptr, &a}));
}

TEST_F(CudaDeviceTest, FunctionsMayUseAllSharedMemoryBesidesTheirOwn) {
  load();
  EXPECT_EQ(fake_.dynamic_shared_bytes.at("add_one"), 227 << 10);
  EXPECT_EQ(fake_.dynamic_shared_bytes.at("store"), (227 << 10) - 1024);
}

TEST_F(CudaDeviceTest, ALaunchBeyondLimitsIsOurs) {
  load();
  EXPECT_THROW(device_->launch("store", 1, 2048, 0, nullptr), InternalError);
  EXPECT_THROW(device_->launch("store", 0, 32, 0, nullptr), InternalError);
  EXPECT_THROW(device_->launch("store", int64_t{1} << 31, 32, 0, nullptr), InternalError);
  EXPECT_THROW(device_->launch("store", 1, 32, 228 << 10, nullptr), InternalError);
  EXPECT_THROW(device_->launch("no_such_kernel", 1, 32, 0, nullptr), InternalError);
}

TEST_F(CudaDeviceTest, CodeOfAnotherArchitectureIsRefused) {
  EXPECT_EQ(refusal([&] {
              device_->load({}, {10, 0});
            }),
            "the kernels are compiled for sm_100, GPU 'Fake H100' is sm_90; compile with --target cuda:sm_90");
  fake_.minor = 0;
  fake_.major = 8;
  open();
  EXPECT_THAT(refusal([&] { device_->load({}, {8, 6}); }), HasSubstr("compile with --target cuda:sm_80"));
}

TEST_F(CudaDeviceTest, AKernelThatIsNotInItsModuleIsNamed) {
  EXPECT_THAT(refusal([&] {
                device_->load(std::vector<Cubin>{{"add_one", {{.symbol = "absent"}}}}, {9, 0});
              }),
              HasSubstr("looking for kernel absent"));
}

TEST_F(CudaDeviceTest, AStepIsRecordedOnceAndReplayed) {
  load();
  DevicePointer address = counter();
  void* arguments[] = {&address};
  {
    const cuda::StepGraph graph = device_->capture([&] {
      device_->launch("add_one", 1, 32, 0, arguments);
      device_->launch("add_one", 1, 32, 0, arguments);
    });
    EXPECT_EQ(read(address), 0) << "recording runs nothing";
    const DevicePointer recorded = address;
    address = 0;  // the values of arguments are part of the graph
    for (int step = 1; step <= 3; ++step) {
      device_->replay(graph);
      EXPECT_EQ(read(recorded), 2 * step);
    }
  }
  EXPECT_EQ(fake_.count("graph_launch"), 3U);
  EXPECT_EQ(fake_.count("launch_kernel add_one"), 2U);
}

TEST_F(CudaDeviceTest, WhatFailsWhileRecordingLeavesTheStreamUsable) {
  load();
  DevicePointer address = counter();
  void* arguments[] = {&address};
  EXPECT_THROW(device_->capture([&] { device_->allocate(8, "memory in a graph"); }), UserError);
  EXPECT_THROW(device_->capture([&] { user_error("something else"); }), UserError);
  device_->launch("add_one", 1, 32, 0, arguments);
  EXPECT_EQ(read(address), 1);
  fake_.failures["graph_instantiate"] = 999;
  EXPECT_THAT(refusal([&] { device_->capture([] {}); }), HasSubstr("making a graph of a step"));
}

TEST_F(CudaDeviceTest, LaunchesAreTimedBetweenMarks) {
  load();
  DevicePointer address = counter();
  void* arguments[] = {&address};
  for (int round = 0; round < 2; ++round) {
    device_->forget_marks();
    const int begin = device_->mark();
    device_->launch("add_one", 1, 32, 0, arguments);
    const int middle = device_->mark();
    device_->launch("add_one", 1, 32, 0, arguments);
    device_->launch("add_one", 1, 32, 0, arguments);
    const int end = device_->mark();
    EXPECT_FLOAT_EQ(static_cast<float>(device_->elapsed_us(begin, middle)), 10);
    EXPECT_FLOAT_EQ(static_cast<float>(device_->elapsed_us(middle, end)), 20);
  }
  EXPECT_THROW(device_->elapsed_us(0, 3), InternalError);
}

TEST_F(CudaDeviceTest, AFaultOfAKernelIsSeenWhereTheHostWaits) {
  load();
  fake_.failures["stream_synchronize"] = cuda::kIllegalAddress;
  EXPECT_THAT([&] { device_->synchronize(); }, testing::ThrowsMessage<InternalError>(HasSubstr("waiting for the GPU")));
}

}  // namespace
}  // namespace stepc::test
