#pragma once

#include <cstddef>
#include <span>
#include <string>

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

// Throws UserError where the file is larger, too.
std::string read_text_file(const std::string& path, size_t most_bytes = size_t{1} << 28);

}  // namespace stepc
