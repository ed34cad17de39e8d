#include "runtime/cuda/driver.h"

#include "ir/support/error.h"
#include "runtime/cuda/shared_library.h"

#include <cstdlib>

namespace stepc::cuda {
namespace {

// The first CUDA whose drivers have every function of driver.def and run cubins of all later releases of its major.
constexpr Version kOldest{12, 0};

// The driver branch that a major release of CUDA needs (CUDA Compatibility, "minor version compatibility").
std::string_view driver_branch(int cuda_major) {
  switch (cuda_major) {
    case 12: return "525";
    case 13: return "580";
    default: return "the one of that release";
  }
}

// What a user can do about a result.
std::string_view advice(int result) {
  switch (result) {
    case kOutOfMemory: return "; free memory of the GPU (nvidia-smi lists who has it), or lower --memory-budget";
    case kStubLibrary: return "; this is the toolkit's stub: take its folder `stubs` out of the loader's paths";
    case kDeviceUnavailable: return "; another process has the GPU for itself (nvidia-smi -q -d COMPUTE)";
    case kNoDevice: return "; see whether nvidia-smi lists one, and what CUDA_VISIBLE_DEVICES says";
    case kUncorrectableEcc: return "; the GPU's memory is damaged or needs a reset";
    case kSystemDriverMismatch: return "; the driver was updated under a running kernel module: restart the machine";
    default: return "";
  }
}

// Results of which a kernel is the cause, and so a bug of ours.
bool is_kernel_fault(int result) {
  switch (result) {
    case kIllegalAddress:
    case kLaunchOutOfResources:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed: return true;
    default: return false;
  }
}

}  // namespace

Driver Driver::open() {
  const char* const named = std::getenv("STEPC_CUDA_DRIVER");
  const std::string name = named != nullptr && *named != '\0' ? named : "libcuda.so.1";
  std::string why;
  const auto library = SharedLibrary::open(name, why);
  if (!library)
    user_error("no CUDA driver on this machine ({}); install NVIDIA's, or use --target cpu or --target simt", why);
  DriverApi table;
#define DRIVER_FUNCTION(name, symbol, ...) library->bind(table.name, #symbol);
#include "runtime/cuda/driver.def"
#undef DRIVER_FUNCTION
  return Driver(std::move(table));
}

Driver::Driver(DriverApi table) : api(std::move(table)) {
  check(api.init(0), "starting the CUDA driver");
  int number = 0;
  check(api.driver_get_version(&number), "asking for the driver's version");
  version_ = {number / 1000, number % 1000 / 10};
  if (version_ < kOldest)
    user_error("the CUDA driver is too old: it supports CUDA {}, needed is {}; install driver {} or newer",
               version_.text(), kOldest.text(), driver_branch(kOldest.major));
  check(api.device_get_count(&device_count_), "counting GPUs");
  if (device_count_ == 0) check(kNoDevice, "counting GPUs");
}

void Driver::check_runs(Version compiler) const {
  if (version_.major >= compiler.major) return;
  user_error(
      "the CUDA driver is too old: it supports CUDA {}, the kernels are compiled by NVRTC {}; install driver {} or "
      "newer, or name an NVRTC of CUDA {} in STEPC_NVRTC",
      version_.text(), compiler.text(), driver_branch(compiler.major), version_.major);
}

void Driver::check(int result, std::string_view doing) const {
  if (result == kSuccess) return;
  const char* name = nullptr;
  const char* text = nullptr;
  api.get_error_name(result, &name);
  api.get_error_string(result, &text);
  const std::string message = fmt::format("{}: {} ({})", doing, text != nullptr ? text : "unknown error",
                                          name != nullptr ? name : fmt::format("{}", result));
  if (is_kernel_fault(result))
    throw InternalError(message + "; stepc run --target simt names the kernel, the line and the thread");
  user_error("{}{}", message, advice(result));
}

}  // namespace stepc::cuda
