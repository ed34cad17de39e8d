#pragma once

#include "runtime/cuda/version.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

// NVIDIA's names, so that our declarations are theirs.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace stepc::cuda {

// The driver's functions. A table, so that a test can stand in for the driver.
struct DriverApi {
#define DRIVER_FUNCTION(name, symbol, ...) std::function<int(__VA_ARGS__)> name;
#include "runtime/cuda/driver.def"
#undef DRIVER_FUNCTION
};

// Results of the driver that are told apart.
enum DriverResult : int {
  kSuccess = 0,
  kOutOfMemory = 2,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kUncorrectableEcc = 214,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kSystemDriverMismatch = 803
};

// Attributes and flags that are used, by cuda.h.
enum DriverNumber : int {
  kDeviceProcessorCount = 16,       // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  kDeviceCapabilityMajor = 75,      // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  kDeviceCapabilityMinor = 76,      // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
  kDeviceSharedBytesOptIn = 97,     // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
  kFunctionDynamicSharedBytes = 8,  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  kStreamNonBlocking = 1,           // CU_STREAM_NON_BLOCKING
  kEventDisableTiming = 2,          // CU_EVENT_DISABLE_TIMING
  kCaptureThreadLocal = 1           // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
};

// The CUDA driver, ready to use: initialised, new enough, and with at least one device.
class Driver {
 public:
  // The one of this machine: libcuda.so.1, or what STEPC_CUDA_DRIVER names. Throws UserError: none, the toolkit's stub,
  // too old, no device.
  static Driver open();
  explicit Driver(DriverApi table);

  DriverApi api;
  Version version() const { return version_; }  // the CUDA version that it supports
  int device_count() const { return device_count_; }

  // Throws UserError where cubins of this compiler need a newer driver.
  void check_runs(Version compiler) const;
  // Throws for a result other than success: InternalError where a kernel did what it must not, else UserError. `doing`
  // is what was asked for: "loading kernels".
  void check(int result, std::string_view doing) const;

 private:
  Version version_;
  int device_count_ = 0;
};

}  // namespace stepc::cuda
