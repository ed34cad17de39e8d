#pragma once

#include "runtime/cpu/compiler.h"

#include <filesystem>
#include <string>

namespace stepc {

// Compiled translation units on disk, each under a hash of source, flags, compiler and processor. An entry is a shared
// object followed by a digest of its bytes, written beside its place and renamed: processes share a cache, and what a
// crash or a bad disk left behind is noticed and built again.
class KernelCache {
 public:
  // $STEPC_CACHE_DIR, $XDG_CACHE_HOME/stepc or $HOME/.cache/stepc.
  static std::filesystem::path default_folder();
  explicit KernelCache(std::filesystem::path folder);

  struct Entry {
    std::filesystem::path path;
    bool hit = false;
  };
  // The shared object of a translation unit, compiled where it is not there. Safe to call from several threads.
  // Throws UserError where the folder cannot be written.
  Entry get(const std::string& source, const SystemCompiler& compiler) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace stepc
