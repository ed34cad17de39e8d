#pragma once

#include "ir/tensor.h"

#include <map>
#include <string>

namespace stepc {

// Constants up to this many elements stand in the text; larger ones lie in a store under their hash.
constexpr int64_t kInlineConstantElements = 16;

// 32 hexadecimal digits over dtype, shape and bytes.
std::string constant_hash(const Tensor& tensor);

class ConstantSink {
 public:
  virtual ~ConstantSink() = default;
  virtual void put(const std::string& hash, const Tensor& tensor) = 0;
};

class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  // Throws UserError where no tensor of that type is stored under the hash.
  virtual Tensor get(const std::string& hash, const Type& type) const = 0;
};

class ConstantMemory : public ConstantSink, public ConstantSource {
 public:
  void put(const std::string& hash, const Tensor& tensor) override { tensors_.insert_or_assign(hash, tensor); }
  Tensor get(const std::string& hash, const Type& type) const override;

 private:
  std::map<std::string, Tensor> tensors_;
};

}  // namespace stepc
