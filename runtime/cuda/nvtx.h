#pragma once

#include <functional>
#include <string>

namespace stepc::cuda {

// NVTX, which names what Nsight shows: opened at run time (libnvtx3interop, before CUDA 13 libnvToolsExt; STEPC_NVTX
// names it), and silently absent elsewhere.
struct Nvtx {
  static Nvtx open();

  std::function<int(const char*)> push;  // both empty where there is none
  std::function<int()> pop;
};

}  // namespace stepc::cuda
