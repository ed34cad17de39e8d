#include "runtime/cpu/kernel_library.h"

#include "ir/support/error.h"
#include "runtime/cpu/kernel_cache.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace stepc {
namespace {

// Calls f(0) .. f(count - 1) on several threads and rethrows what the lowest index threw.
template <typename F>
void for_each_parallel(size_t count, size_t threads, F&& f) {
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(count);
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) try {
        f(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
  };
  std::vector<std::thread> pool;
  for (size_t t = 1; t < std::min(threads, count); ++t) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

void KernelLibrary::Close::operator()(void* handle) const { dlclose(handle); }

KernelLibrary::KernelLibrary(const std::vector<std::string>& units, const CompileOptions& options) {
  if (units.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  const SystemCompiler compiler;
  const KernelCache cache(options.folder.empty() ? KernelCache::default_folder() : options.folder);
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<KernelCache::Entry> entries(units.size());
  for_each_parallel(units.size(), static_cast<size_t>(std::max(threads, 1)),
                    [&](size_t i) { entries[i] = cache.get(units[i], compiler); });
  for (const KernelCache::Entry& entry : entries) {
    void* const handle = dlopen(entry.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) user_error("cannot load compiled kernels: {}", dlerror());
    handles_.emplace_back(handle);
    cache_hits_ += entry.hit ? 1 : 0;
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  compile_us_ = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
}

StepcKernel KernelLibrary::find(const std::string& symbol) const {
  for (const auto& handle : handles_)
    if (void* const address = dlsym(handle.get(), symbol.c_str())) return reinterpret_cast<StepcKernel>(address);
  CHECK(false, "no kernel {}", symbol);
  return nullptr;
}

}  // namespace stepc
