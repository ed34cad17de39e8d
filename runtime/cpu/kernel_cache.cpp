#include "runtime/cpu/kernel_cache.h"

#include "ir/support/error.h"
#include "ir/support/hash.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace stepc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "STEPC-OBJECT-2:";
constexpr size_t kDigestDigits = 32;

std::string digest(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  for (const std::string_view part : parts) hasher.update(part);
  return hasher.hex();
}

std::string read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What follows an object: it belongs to this key, so that an entry under another's name is noticed too.
std::string trailer(std::string_view key, std::string_view object) {
  return std::string(kMark) + digest({key, "\n", object});
}

bool is_intact(const fs::path& path, std::string_view key) {
  const std::string content = read_file(path);
  constexpr size_t kTrailerBytes = kMark.size() + kDigestDigits;
  if (content.size() <= kTrailerBytes) return false;
  const std::string_view object = std::string_view(content).substr(0, content.size() - kTrailerBytes);
  return content.ends_with(trailer(key, object));
}

// Files that are gone whatever happens.
struct Temporary {
  fs::path path;
  explicit Temporary(fs::path p) : path(std::move(p)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

void write_file(const fs::path& path, std::string_view content, std::ios::openmode mode) {
  std::ofstream file(path, mode | std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file)
    user_error("cannot write to the kernel cache {}: {}; set STEPC_CACHE_DIR to a folder with space and permission",
               path.parent_path().string(), std::strerror(errno));
}

}  // namespace

fs::path KernelCache::default_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  if (const std::string own = variable("STEPC_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "stepc";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "stepc";
  user_error("no place for the kernel cache: set STEPC_CACHE_DIR");
}

KernelCache::KernelCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    user_error("cannot create the kernel cache {}: {}; set STEPC_CACHE_DIR to a writable folder", folder_.string(),
               error.message());
}

KernelCache::Entry KernelCache::get(const std::string& source, const SystemCompiler& compiler) const {
  const std::string key = digest({source, "\n", compiler.identity()});
  const fs::path path = folder_ / (key + ".so");
  if (is_intact(path, key)) return {path, true};

  static std::atomic<int> serial{0};
  const std::string name = fmt::format("{}.{}.{}", key, getpid(), serial++);
  const Temporary text(folder_ / (name + ".cpp"));
  const Temporary object(folder_ / (name + ".so"));
  write_file(text.path, source, std::ios::trunc);
  compiler.compile(text.path, object.path);
  write_file(object.path, trailer(key, read_file(object.path)), std::ios::app);
  std::error_code error;
  fs::rename(object.path, path, error);
  if (error) user_error("cannot write {} in the kernel cache: {}; remove it", path.string(), error.message());
  return {path, false};
}

}  // namespace stepc
