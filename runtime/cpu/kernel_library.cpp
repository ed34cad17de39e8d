#include "runtime/cpu/kernel_library.h"

#include "ir/support/error.h"
#include "runtime/cpu/kernel_cache.h"
#include "runtime/parallel_for_each.h"

#include <dlfcn.h>

#include <chrono>

namespace stepc {
void KernelLibrary::Close::operator()(void* handle) const { dlclose(handle); }

KernelLibrary::KernelLibrary(const std::vector<std::string>& units, const CompileOptions& options) {
  if (units.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  const SystemCompiler compiler;
  const KernelCache cache(options.folder);
  std::vector<ObjectCache::Entry> entries(units.size());
  parallel_for_each(units.size(), thread_count(options.threads),
                    [&](size_t i) { entries[i] = cache.get(units[i], compiler); });
  for (const ObjectCache::Entry& entry : entries) {
    void* const handle = dlopen(entry.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) user_error("cannot load compiled kernels: {}", dlerror());
    handles_.emplace_back(handle);
    cache_hits_ += entry.hit ? 1 : 0;
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  compile_us_ = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
}

void* KernelLibrary::address(const std::string& symbol) const {
  for (const auto& handle : handles_)
    if (void* const function = dlsym(handle.get(), symbol.c_str())) return function;
  CHECK(false, "no kernel {}", symbol);
  return nullptr;
}

}  // namespace stepc
