#include "ir/constant_store.h"

#include "ir/support/error.h"
#include "ir/support/hash.h"

#include <fstream>

namespace stepc {

namespace fs = std::filesystem;

std::string constant_hash(const Tensor& tensor) {
  Hasher hasher;
  hasher.update(to_string(tensor.type()));
  hasher.update(tensor.bytes());
  return hasher.hex();
}

ConstantDirectory ConstantDirectory::beside(const fs::path& file) {
  return ConstantDirectory(fs::path(file.string() + ".constants"));
}

void ConstantDirectory::put(const std::string& hash, const Tensor& tensor) {
  const fs::path path = folder_ / hash;
  std::error_code error;
  if (fs::exists(path, error)) return;
  fs::create_directories(folder_, error);
  const fs::path beside = folder_ / (hash + ".tmp");
  std::ofstream stream(beside, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(tensor.bytes().data()),
               static_cast<std::streamsize>(tensor.bytes().size()));
  stream.close();
  if (!stream) user_error("cannot write constant {}: check free space and permissions", beside.string());
  fs::rename(beside, path, error);
  if (error) user_error("cannot write constant {}: {}", path.string(), error.message());
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

Tensor ConstantMemory::get(const std::string& hash, const Type& type) const {
  const auto position = tensors_.find(hash);
  if (position == tensors_.end()) user_error("constant {} is missing", hash);
  if (position->second.type() != type)
    user_error("constant {} is {}, not {}", hash, to_string(position->second.type()), to_string(type));
  return position->second;
}

}  // namespace stepc
