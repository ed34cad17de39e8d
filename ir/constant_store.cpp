#include "ir/constant_store.h"

#include "ir/support/error.h"
#include "ir/support/hash.h"

namespace stepc {

std::string constant_hash(const Tensor& tensor) {
  Hasher hasher;
  hasher.update(to_string(tensor.type()));
  hasher.update(tensor.bytes());
  return hasher.hex();
}

Tensor ConstantMemory::get(const std::string& hash, const Type& type) const {
  const auto position = tensors_.find(hash);
  if (position == tensors_.end()) user_error("constant {} is missing", hash);
  if (position->second.type() != type)
    user_error("constant {} is {}, not {}", hash, to_string(position->second.type()), to_string(type));
  return position->second;
}

}  // namespace stepc
