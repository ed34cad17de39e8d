#pragma once

#include <filesystem>

namespace stepc {

struct CompileOptions {
  int threads = 0;               // compilers at a time; 0: one per processor
  std::filesystem::path folder;  // of the cache; empty: ObjectCache::default_folder()
};

}  // namespace stepc
