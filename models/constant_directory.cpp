#include "models/constant_directory.h"

#include "ir/support/error.h"
#include "models/atomic_file.h"

#include <fstream>

namespace stepc {

namespace fs = std::filesystem;

ConstantDirectory ConstantDirectory::beside(const fs::path& file) {
  return ConstantDirectory(fs::path(file.string() + ".constants"));
}

void ConstantDirectory::put(const std::string& hash, const Tensor& tensor) {
  const fs::path path = folder_ / hash;
  std::error_code error;
  // A file of another size is no constant of ours, whatever its name.
  if (fs::file_size(path, error) == tensor.bytes().size() && !error) return;
  fs::create_directories(folder_, error);
  if (error) user_error("cannot create {}: {}", folder_.string(), error.message());
  write_file_atomically(path.string(), tensor.bytes());
}

Tensor ConstantDirectory::get(const std::string& hash, const Type& type) const {
  const fs::path path = folder_ / hash;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) user_error("constant {} is missing: no file {}", hash, path.string());
  if (size != static_cast<uint64_t>(type.bytes()))
    user_error("constant file {} has {} bytes, {} needs {}", path.string(), size, to_string(type), type.bytes());
  Tensor tensor(type);
  std::ifstream stream(path, std::ios::binary);
  stream.read(reinterpret_cast<char*>(tensor.bytes().data()), static_cast<std::streamsize>(size));
  if (!stream) user_error("cannot read constant file {}", path.string());
  if (constant_hash(tensor) != hash) user_error("constant file {} was changed: its hash differs", path.string());
  return tensor;
}

}  // namespace stepc
