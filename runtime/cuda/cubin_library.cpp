#include "runtime/cuda/cubin_library.h"

#include "ir/support/error.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/source_lines.h"
#include "runtime/object_cache.h"
#include "runtime/parallel_for_each.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>

namespace stepc::cuda {
namespace {

constexpr std::string_view kExtension = "cubin";

// An entry of the cache: the bytes of the image as a decimal number, a newline, the image, the log.
std::string pack(const Nvrtc::Result& result) {
  return fmt::format("{}\n", result.image.size()) + result.image + result.log;
}

Cubin unpack(std::string_view entry) {
  size_t bytes = 0;
  const char* const end = std::from_chars(entry.data(), entry.data() + entry.size(), bytes).ptr;
  entry.remove_prefix(static_cast<size_t>(end - entry.data()) + 1);
  CHECK(bytes <= entry.size(), "a cubin of {} bytes in a cache entry of {}", bytes, entry.size());
  return read_cubin(std::string(entry.substr(0, bytes)), entry.substr(bytes));
}

[[noreturn]] void refuse(const std::string& key, const std::string& source, const std::string& log,
                         const Nvrtc& compiler, Architecture architecture, const ObjectCache& cache) {
  const std::filesystem::path file = cache.write_text(key + ".cu", source);
  throw InternalError(fmt::format("NVRTC {} refuses generated kernels for {}:\n{}\n{}compile it again with: {}",
                                  compiler.version().text(), architecture.name(), log, lines_around_errors(source, log),
                                  Nvrtc::command(file, architecture)));
}

}  // namespace

CubinLibrary::CubinLibrary(std::span<const std::string> units, Architecture architecture, const CompileOptions& options)
    : architecture_(architecture) {
  if (units.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<const std::string*> distinct;
  std::set<std::string_view> seen;
  for (const std::string& unit : units)
    if (seen.insert(unit).second) distinct.push_back(&unit);

  const Nvrtc compiler;
  compiler.check(architecture);
  compiler_ = compiler.version();
  const ObjectCache cache(options.folder);
  cubins_.resize(distinct.size());
  std::atomic<int> hits{0};
  parallel_for_each(distinct.size(), thread_count(options.threads), [&](size_t i) {
    const std::string& source = *distinct[i];
    const std::string key = ObjectCache::key({source, "\n", compiler.identity(), "\n", architecture.name()});
    if (const std::optional<std::string> entry = cache.read(key, kExtension)) {
      cubins_[i] = unpack(*entry);
      ++hits;
      return;
    }
    Nvrtc::Result result = compiler.compile(source, architecture);
    if (!result.compiled) refuse(key, source, result.log, compiler, architecture, cache);
    cache.write(key, kExtension, pack(result));
    cubins_[i] = read_cubin(std::move(result.image), result.log);
  });
  cache_hits_ = hits;
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  compile_us_ = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
}

}  // namespace stepc::cuda
