#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stepc {

// A file written beside its place and renamed when complete, so that a reader never sees half of one and a failure
// loses nothing. What is there and is no regular file (a device, a pipe) is written to instead of replaced. Throws
// UserError where writing fails (no permission, full disk).
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // removes what was not committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Takes the disk space of a large file before its first byte is written, where the file system can.
  void reserve(int64_t bytes);
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void failed(const char* what) const;

  std::string path_;
  std::string temporary_;  // empty: written in place
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);

// Throws UserError where no file can be created at `path`: said before the work, not after it.
void check_writable(const std::string& path);

}  // namespace stepc
