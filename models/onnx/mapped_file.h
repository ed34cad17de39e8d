#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace stepc::onnx_import {

// A regular file mapped read-only for as long as the object lives.
class MappedFile {
 public:
  // Takes over the descriptor and closes it. Errors begin with `shown`, which says what the file is.
  MappedFile(int descriptor, const std::string& shown);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  static MappedFile open(const std::string& path);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace stepc::onnx_import
