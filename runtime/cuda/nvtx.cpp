#include "runtime/cuda/nvtx.h"

#include "runtime/cuda/shared_library.h"

namespace stepc::cuda {

Nvtx Nvtx::open() {
  Nvtx nvtx;
  for (const char* name : {"nvtx3interop", "nvToolsExt"})
    if (const auto library = open_toolkit_library(name, "STEPC_NVTX")) {
      library->bind(nvtx.push, "nvtxRangePushA");
      library->bind(nvtx.pop, "nvtxRangePop");
      break;
    }
  return nvtx;
}

}  // namespace stepc::cuda
