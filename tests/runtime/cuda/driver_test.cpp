// What the driver says, as a user reads it.
#include "runtime/cuda/driver.h"
#include "ir/support/error.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/environment_variable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace stepc::test {
namespace {

using cuda::Driver;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
    return "accepted";
  } catch (const UserError& error) {
    return error.what();
  }
}

std::string refusal(FakeDriver& fake) {
  return refusal([&] { const Driver driver(fake.table()); });
}

TEST(DriverTest, AMachineWithoutDriverIsOneLine) {
  const EnvironmentVariable variable("STEPC_CUDA_DRIVER", "no/such/libcuda.so.1");
  EXPECT_THAT(refusal([] { Driver::open(); }), AllOf(HasSubstr("no CUDA driver on this machine (no/such/libcuda.so.1"),
                                                     HasSubstr("--target simt"), Not(HasSubstr("\n"))));
}

// The toolkit's stub has all functions, and says of itself that it is none.
TEST(DriverTest, TheToolkitsStubIsNoDriver) {
  const std::string stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (!std::filesystem::exists(stub)) GTEST_SKIP() << "no CUDA toolkit on this machine";
  const EnvironmentVariable variable("STEPC_CUDA_DRIVER", stub);
  EXPECT_THAT(refusal([] { Driver::open(); }), HasSubstr("this is the toolkit's stub"));
}

TEST(DriverTest, AnotherLibraryIsNoDriver) {
  const EnvironmentVariable variable("STEPC_CUDA_DRIVER", "libz.so.1");
  EXPECT_THAT(refusal([] { Driver::open(); }), HasSubstr("is too old: it has no cuInit"));
}

TEST(DriverTest, VersionsAreRead) {
  FakeDriver fake;
  fake.version = 12040;
  const Driver driver(fake.table());
  EXPECT_EQ(driver.version(), (cuda::Version{12, 4}));
  EXPECT_EQ(driver.device_count(), 1);
}

TEST(DriverTest, AnOldDriverIsToldWhatIsNeeded) {
  FakeDriver fake;
  fake.version = 11080;
  EXPECT_EQ(refusal(fake),
            "the CUDA driver is too old: it supports CUDA 11.8, needed is 12.0; install driver 525 or newer");
}

TEST(DriverTest, KernelsOfANewerCudaAreToldWhatTheyNeed) {
  FakeDriver fake;
  fake.version = 12040;
  const Driver driver(fake.table());
  driver.check_runs({12, 9});
  EXPECT_EQ(
      refusal([&] {
        driver.check_runs({13, 0});
      }),
      "the CUDA driver is too old: it supports CUDA 12.4, the kernels are compiled by NVRTC 13.0; install driver 580 "
      "or newer, or name an NVRTC of CUDA 12 in STEPC_NVRTC");
}

TEST(DriverTest, NoDeviceIsOneLine) {
  FakeDriver none;
  none.devices = 0;
  EXPECT_THAT(refusal(none), HasSubstr("CUDA_VISIBLE_DEVICES"));
  FakeDriver refuses;
  refuses.failures["init"] = cuda::kNoDevice;
  EXPECT_THAT(refusal(refuses), HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(DriverTest, ResultsComeWithAdvice) {
  const struct {
    int result;
    const char* words;
  } cases[] = {
      {cuda::kOutOfMemory, "nvidia-smi lists who has it"},  {cuda::kStubLibrary, "stub"},
      {cuda::kDeviceUnavailable, "another process"},        {cuda::kUncorrectableEcc, "damaged"},
      {cuda::kSystemDriverMismatch, "restart the machine"}, {999, "as the fake was told (CUDA_ERROR_FAKE)"},
  };
  FakeDriver fake;
  const Driver driver(fake.table());
  driver.check(cuda::kSuccess, "doing well");
  for (const auto& expected : cases)
    EXPECT_THAT(refusal([&] { driver.check(expected.result, "copying"); }),
                AllOf(testing::StartsWith("copying: "), HasSubstr(expected.words), Not(HasSubstr("\n"))));
}

TEST(DriverTest, FaultsOfKernelsAreOurs) {
  FakeDriver fake;
  const Driver driver(fake.table());
  for (const int result : {cuda::kIllegalAddress, cuda::kLaunchOutOfResources, cuda::kAssert, cuda::kHardwareStackError,
                           cuda::kIllegalInstruction, cuda::kMisalignedAddress, cuda::kInvalidAddressSpace,
                           cuda::kInvalidPc, cuda::kLaunchFailed})
    EXPECT_THAT([&] { driver.check(result, "waiting for the GPU"); },
                testing::ThrowsMessage<InternalError>(HasSubstr("stepc run --target simt names the kernel")));
}

}  // namespace
}  // namespace stepc::test
