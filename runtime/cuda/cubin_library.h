#pragma once

#include "runtime/compile_options.h"
#include "runtime/cuda/architecture.h"
#include "runtime/cuda/cubin.h"
#include "runtime/cuda/version.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepc::cuda {

// Generated CUDA text, compiled by NVRTC through the cache on disk, on several threads. A unit that occurs twice is
// compiled once. Needs neither GPU nor driver.
class CubinLibrary {
 public:
  // Throws UserError: no NVRTC, one that does not know the architecture, a cache that cannot be written. Source that
  // NVRTC refuses is our bug: an InternalError with the source lines, the log, and how to compile the file by hand,
  // which is kept in the cache's folder.
  CubinLibrary(std::span<const std::string> units, Architecture architecture, const CompileOptions& options);

  // One per distinct unit, in the order of their first appearance.
  const std::vector<Cubin>& cubins() const { return cubins_; }
  Architecture architecture() const { return architecture_; }
  Version compiler() const { return compiler_; }  // NVRTC's; 0.0 without units
  int cache_hits() const { return cache_hits_; }
  int unit_count() const { return static_cast<int>(cubins_.size()); }
  int64_t compile_us() const { return compile_us_; }

 private:
  std::vector<Cubin> cubins_;
  Architecture architecture_;
  Version compiler_;
  int cache_hits_ = 0;
  int64_t compile_us_ = 0;
};

}  // namespace stepc::cuda
