#pragma once

#include "codegen/cpu/device/abi.h"
#include "runtime/compile_options.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stepc {

// Generated code, compiled and loaded.
class KernelLibrary {
 public:
  // Compiles what the cache lacks. Throws UserError: no compiler, a cache that cannot be written.
  KernelLibrary(const std::vector<std::string>& units, const CompileOptions& options);

  StepcKernel find(const std::string& symbol) const { return reinterpret_cast<StepcKernel>(address(symbol)); }
  void* address(const std::string& symbol) const;  // of any function
  int cache_hits() const { return cache_hits_; }
  int unit_count() const { return static_cast<int>(handles_.size()); }
  int64_t compile_us() const { return compile_us_; }

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  std::vector<std::unique_ptr<void, Close>> handles_;
  int cache_hits_ = 0;
  int64_t compile_us_ = 0;
};

}  // namespace stepc
