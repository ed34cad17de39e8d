#pragma once

#include "runtime/cpu/compiler.h"
#include "runtime/object_cache.h"

#include <filesystem>
#include <string>

namespace stepc {

// Translation units compiled by the system's compiler, each under a hash of source, flags, compiler and processor.
class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder) : objects_(std::move(folder)) {}

  // The shared object of a translation unit, compiled where it is not there.
  ObjectCache::Entry get(const std::string& source, const SystemCompiler& compiler) const;

 private:
  ObjectCache objects_;
};

}  // namespace stepc
