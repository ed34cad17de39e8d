#pragma once

#include "ir/tensor.h"
#include "tools/driver/io/files.h"
#include "tools/driver/io/tensor_source.h"

#include <map>
#include <string>
#include <vector>

namespace stepc {

// A .safetensors file, mapped: an 8-byte header length, a JSON header, then the tensors' bytes. Throws UserError where
// the header is damaged or a tensor does not lie inside the file with the size of its shape.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const TensorView* find(const std::string& name) const;

 private:
  MappedInput file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Written beside its place and renamed, once the disk has room for all of it.
void write_safetensors(const std::string& path, const std::vector<TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace stepc
