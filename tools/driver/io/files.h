#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace stepc {

// A regular file mapped read-only. Throws UserError where it cannot be opened.
class MappedInput {
 public:
  explicit MappedInput(const std::string& path);
  ~MappedInput();
  MappedInput(const MappedInput&) = delete;
  MappedInput& operator=(const MappedInput&) = delete;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

std::string read_text_file(const std::string& path);

// A file written beside its place and renamed when complete, so that a reader never sees half of one and a failure
// loses nothing. Throws UserError where writing fails (no permission, full disk).
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // removes what was not committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void failed(const char* what) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);

}  // namespace stepc
