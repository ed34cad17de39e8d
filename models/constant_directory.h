#pragma once

#include "ir/constant_store.h"

#include <filesystem>

namespace stepc {

// Raw row-major bytes in `folder/<hash>`, one file per constant; the folder appears with the first of them. Processes
// may share it. `put` throws UserError where it cannot write, `get` where a file is absent or was changed.
class ConstantDirectory : public ConstantSink, public ConstantSource {
 public:
  explicit ConstantDirectory(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // "<file>.constants", beside a text file.
  static ConstantDirectory beside(const std::filesystem::path& file);

  void put(const std::string& hash, const Tensor& tensor) override;
  Tensor get(const std::string& hash, const Type& type) const override;

 private:
  std::filesystem::path folder_;
};

}  // namespace stepc
