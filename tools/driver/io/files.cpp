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

std::string read_text_file(const std::string& path) {
  const MappedInput file(path);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
  descriptor_ = mkstemp(temporary_.data());
  if (descriptor_ < 0) failed("cannot create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::failed(const char* what) const { user_error("{} {}: {}", what, path_, std::strerror(errno)); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) failed("cannot write");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor_, 0666 & ~mask) != 0 || close(descriptor_) != 0) failed("cannot write");
  descriptor_ = -1;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    unlink(temporary_.c_str());
    errno = reason;
    failed("cannot write");
  }
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace stepc
