#include "tools/driver/io/files.h"

#include "ir/support/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stepc {

MappedInput::MappedInput(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) user_error("cannot open {}: {}", path, std::strerror(errno));
  struct stat info {};
  const bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  size_ = regular ? static_cast<size_t>(info.st_size) : 0;
  void* mapped = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  close(descriptor);
  if (!regular) user_error("cannot read {}: not a regular file", path);
  if (mapped == MAP_FAILED) user_error("cannot map {}: {}", path, std::strerror(errno));
  data_ = static_cast<const std::byte*>(mapped);
}

MappedInput::~MappedInput() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_text_file(const std::string& path, size_t most_bytes) {
  const MappedInput file(path);
  if (file.size() > most_bytes) user_error("{} has {} bytes; at most {} are read", path, file.size(), most_bytes);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace stepc
