#include "runtime/object_cache.h"

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
constexpr size_t kTrailerBytes = kMark.size() + 32;

std::string content_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What follows an object: it belongs to this key, so that an entry under another's name is noticed too.
std::string trailer(std::string_view key, std::string_view object) {
  return std::string(kMark) + ObjectCache::key({key, "\n", object});
}

void write_file(const fs::path& path, std::string_view content, std::ios::openmode mode) {
  std::ofstream file(path, mode | std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file)
    user_error("cannot write to the kernel cache {}: {}; set STEPC_CACHE_DIR to a folder with space and permission",
               path.parent_path().string(), std::strerror(errno));
}

}  // namespace

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

fs::path ObjectCache::default_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  if (const std::string own = variable("STEPC_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "stepc";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "stepc";
  user_error("no place for the kernel cache: set STEPC_CACHE_DIR");
}

std::string ObjectCache::key(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  for (const std::string_view part : parts) hasher.update(part);
  return hasher.hex();
}

ObjectCache::ObjectCache(fs::path folder) : folder_(folder.empty() ? default_folder() : std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    user_error("cannot create the kernel cache {}: {}; set STEPC_CACHE_DIR to a writable folder", folder_.string(),
               error.message());
}

fs::path ObjectCache::place(const std::string& key, std::string_view extension) const {
  return folder_ / fmt::format("{}.{}", key, extension);
}

std::optional<std::string> ObjectCache::read(const std::string& key, std::string_view extension) const {
  std::string content = content_of(place(key, extension));
  if (content.size() <= kTrailerBytes) return std::nullopt;
  const std::string_view object = std::string_view(content).substr(0, content.size() - kTrailerBytes);
  if (!content.ends_with(trailer(key, object))) return std::nullopt;
  content.resize(object.size());
  return content;
}

void ObjectCache::put(const std::string& key, std::string_view extension, const Make& make) const {
  static std::atomic<int> serial{0};
  const TemporaryFile object(folder_ / fmt::format("{}.{}.{}.{}", key, getpid(), serial++, extension));
  make(object.path());
  write_file(object.path(), trailer(key, content_of(object.path())), std::ios::app);
  const fs::path path = place(key, extension);
  std::error_code error;
  fs::rename(object.path(), path, error);
  if (error) user_error("cannot write {} in the kernel cache: {}; remove it", path.string(), error.message());
}

ObjectCache::Entry ObjectCache::get(const std::string& key, std::string_view extension, const Make& make) const {
  const bool hit = read(key, extension).has_value();
  if (!hit) put(key, extension, make);
  return {place(key, extension), hit};
}

void ObjectCache::write(const std::string& key, std::string_view extension, std::string_view object) const {
  put(key, extension, [&](const fs::path& path) { write_file(path, object, std::ios::trunc); });
}

fs::path ObjectCache::write_text(const std::string& name, std::string_view text) const {
  write_file(folder_ / name, text, std::ios::trunc);
  return folder_ / name;
}

}  // namespace stepc
