#include "models/onnx/mapped_file.h"

#include "ir/support/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stepc::onnx_import {
namespace {

struct Descriptor {
  int value;
  ~Descriptor() { ::close(value); }
};

}  // namespace

MappedFile::MappedFile(int descriptor, const std::string& shown) {
  const Descriptor owned{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) user_error("{} cannot be read: {}", shown, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) user_error("{} is not a regular file", shown);
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) user_error("{} cannot be mapped: {}", shown, std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) user_error("the file cannot be opened: {}", std::strerror(errno));
  return {descriptor, "the file"};
}

}  // namespace stepc::onnx_import
