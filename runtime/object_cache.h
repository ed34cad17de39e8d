#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace stepc {

// Compiled code on disk, one file per key. A file is the object followed by a digest of key and bytes, written beside
// its place and renamed: processes share a cache, and what a crash or a bad disk left behind is noticed and built
// again. Safe to call from several threads. Throws UserError where the folder cannot be written.
class ObjectCache {
 public:
  // $STEPC_CACHE_DIR, $XDG_CACHE_HOME/stepc or $HOME/.cache/stepc.
  static std::filesystem::path default_folder();
  // A hash of everything that decides an object: 32 digits.
  static std::string key(std::initializer_list<std::string_view> parts);

  // An empty folder means the default one.
  explicit ObjectCache(std::filesystem::path folder);
  const std::filesystem::path& folder() const { return folder_; }

  struct Entry {
    std::filesystem::path path;
    bool hit = false;
  };
  // The file under a key. Where there is none, `make` writes the object to the path that it is given, whose name has
  // the same extension and begins with the key.
  using Make = std::function<void(const std::filesystem::path& object)>;
  Entry get(const std::string& key, std::string_view extension, const Make& make) const;

  // The object under a key without its digest, or nothing where there is no intact one.
  std::optional<std::string> read(const std::string& key, std::string_view extension) const;
  // Whatever was there before.
  void write(const std::string& key, std::string_view extension, std::string_view object) const;

  // Writes a file of the cache that is for people to read, and says where.
  std::filesystem::path write_text(const std::string& name, std::string_view text) const;

 private:
  std::filesystem::path place(const std::string& key, std::string_view extension) const;
  void put(const std::string& key, std::string_view extension, const Make& make) const;

  std::filesystem::path folder_;
};

// A file that is gone at the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stepc
