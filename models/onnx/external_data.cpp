#include "models/onnx/external_data.h"

#include "ir/support/error.h"
#include "ir/support/quote.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

namespace stepc::onnx_import {
namespace {

struct Entry {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool has_length = false;
};

uint64_t parse_size(const std::string& text, const std::string& key, const std::string& tensor) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    user_error("external data of tensor {}: {} {} is not a number", tensor, key, in_quotes(text));
  return value;
}

Entry parse_entry(const onnx::TensorProto& proto) {
  const std::string tensor = in_quotes(proto.name());
  Entry entry;
  std::vector<std::string> seen;
  for (const auto& item : proto.external_data()) {
    for (const std::string& key : seen)
      if (key == item.key()) user_error("external data of tensor {}: key {} occurs twice", tensor, in_quotes(key));
    seen.push_back(item.key());
    if (item.key() == "location") {
      entry.location = item.value();
    } else if (item.key() == "offset") {
      entry.offset = parse_size(item.value(), "offset", tensor);
    } else if (item.key() == "length") {
      entry.length = parse_size(item.value(), "length", tensor);
      entry.has_length = true;
    } else if (item.key() != "checksum") {
      user_error("external data of tensor {}: unknown key {} (known: location, offset, length, checksum)", tensor,
                 in_quotes(item.key()));
    }
  }
  if (entry.location.empty()) user_error("external data of tensor {} has no location", tensor);
  return entry;
}

std::vector<std::string> path_steps(const std::string& location, const std::string& shown) {
  if (location.front() == '/' || location.find('\\') != std::string::npos || location.find('\0') != std::string::npos)
    user_error("{} must be a relative path inside the model's folder", shown);
  std::vector<std::string> steps;
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string step = location.substr(begin, end - begin);
    if (step == "..") user_error("{} leads out of the model's folder", shown);
    if (!step.empty() && step != ".") steps.push_back(step);
    begin = end + 1;
  }
  if (steps.empty()) user_error("{} names no file", shown);
  return steps;
}

class Folder {
 public:
  explicit Folder(int descriptor) : descriptor_(descriptor) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { ::close(descriptor_); }
  void step_to(int descriptor) { ::close(std::exchange(descriptor_, descriptor)); }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void refuse_open(const std::string& shown, int error) {
  if (error == ELOOP || error == ENOTDIR)
    user_error("{} is or passes through a symbolic link or a file: put the data itself beside the model", shown);
  user_error("{} cannot be opened: {}", shown, std::strerror(error));
}

}  // namespace

const MappedFile& ExternalData::file(const std::string& location, const std::string& shown) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  const std::vector<std::string> steps = path_steps(location, shown);
  const int root = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) refuse_open(shown, errno);
  Folder folder(root);
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const int next = ::openat(folder.descriptor(), steps[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) refuse_open(shown, errno);
    folder.step_to(next);
  }
  const int descriptor =
      ::openat(folder.descriptor(), steps.back().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse_open(shown, errno);
  struct stat status {};
  const bool many_names = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 1;
  MappedFile mapped(descriptor, shown);
  if (many_names) user_error("{} has several hard links: put a copy of the data beside the model", shown);
  return files_.emplace(location, std::move(mapped)).first->second;
}

std::span<const std::byte> ExternalData::read(const onnx::TensorProto& tensor, int64_t bytes) {
  const Entry entry = parse_entry(tensor);
  const std::string shown =
      fmt::format("external data {} of tensor {}", in_quotes(entry.location), in_quotes(tensor.name()));
  const auto needed = static_cast<uint64_t>(bytes);
  if (entry.has_length && entry.length != needed)
    user_error("{}: length {} where the tensor's type and shape need {} bytes", shown, entry.length, needed);
  const std::span<const std::byte> all = file(entry.location, shown).bytes();
  if (entry.offset > all.size() || needed > all.size() - entry.offset)
    user_error("{}: {} bytes at offset {} lie outside the file of {} bytes", shown, needed, entry.offset, all.size());
  return all.subspan(entry.offset, needed);
}

std::string external_location(const onnx::TensorProto& tensor) {
  for (const auto& item : tensor.external_data())
    if (item.key() == "location") return item.value();
  return {};
}

}  // namespace stepc::onnx_import
