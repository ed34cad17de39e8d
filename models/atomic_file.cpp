#include "models/atomic_file.h"

#include "ir/support/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace stepc {
namespace {

bool is_device(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  if (is_folder(path_)) {
    errno = EISDIR;
    failed("cannot write");
  }
  if (is_device(path_)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) failed("cannot write");
    return;
  }
  temporary_ = path_ + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) failed("cannot create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::failed(const char* what) const { user_error("{} {}: {}", what, path_, std::strerror(errno)); }

void AtomicFile::reserve(int64_t bytes) {
  if (temporary_.empty() || bytes <= 0 || fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, bytes) == 0) return;
  if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
    user_error("cannot write {}: its {} bytes do not fit the disk: {}", path_, bytes, std::strerror(errno));
}

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
  if (!temporary_.empty() && fchmod(descriptor_, 0666 & ~mask) != 0) failed("cannot write");
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed == 0 && (temporary_.empty() || rename(temporary_.c_str(), path_.c_str()) == 0)) return;
  const int reason = errno;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  errno = reason;
  failed("cannot write");
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void check_writable(const std::string& path) {
  if (!is_device(path)) const AtomicFile probe(path);
}

}  // namespace stepc
