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

// A named range for the time of a scope.
class NvtxRange {
 public:
  NvtxRange(const Nvtx& nvtx, const std::string& name) : nvtx_(nvtx) {
    if (nvtx_.push) nvtx_.push(name.c_str());
  }
  ~NvtxRange() {
    if (nvtx_.pop) nvtx_.pop();
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  const Nvtx& nvtx_;
};

}  // namespace stepc::cuda
