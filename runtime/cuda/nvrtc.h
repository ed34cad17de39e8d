#pragma once

#include "runtime/cuda/architecture.h"
#include "runtime/cuda/version.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

struct _nvrtcProgram;  // NVIDIA's name, so that our declarations are theirs

namespace stepc::cuda {

struct NvrtcApi {
#define NVRTC_FUNCTION(result, name, ...) std::function<result(__VA_ARGS__)> name;
#include "runtime/cuda/nvrtc.def"
#undef NVRTC_FUNCTION
};

// NVIDIA's compiler as a library, opened at run time (STEPC_NVRTC names it, see open_toolkit_library). It needs neither
// GPU nor driver. Safe to use from several threads, which compile at the same time.
class Nvrtc {
 public:
  Nvrtc();  // throws UserError where there is none

  Version version() const { return version_; }
  const std::filesystem::path& path() const { return path_; }
  // Everything besides source and architecture that decides the code.
  std::string identity() const;
  // Throws UserError for an architecture that this version does not know.
  void check(Architecture architecture) const;

  struct Result {
    bool compiled = false;  // false: the source is refused, the log says why
    std::string image;      // the cubin
    std::string log;        // with the assembler's figures (-v)
  };
  // `source` must be complete: there is no folder to include from. Throws UserError where NVRTC itself fails.
  Result compile(const std::string& source, Architecture architecture) const;

  // How to compile a file in the same way by hand.
  static std::string command(const std::filesystem::path& source, Architecture architecture);

 private:
  NvrtcApi api_;
  std::filesystem::path path_;
  Version version_;
  std::vector<int> architectures_;
};

}  // namespace stepc::cuda
