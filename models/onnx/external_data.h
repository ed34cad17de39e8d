#pragma once

#include "models/onnx/mapped_file.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace stepc::onnx_import {

// Payloads of tensors that live in files beside the model. A model is hostile input, so a location is a relative path
// without "..", every step of it is opened without following symbolic links, and the file itself must be regular and
// have one name only (a hard link could lead out of the folder). Each file is mapped once.
class ExternalData {
 public:
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  // The bytes of a tensor whose data_location is EXTERNAL; `bytes` is what its type and shape need. Throws UserError
  // where an entry is unknown, malformed, out of the file's bounds or of another size.
  std::span<const std::byte> read(const onnx::TensorProto& tensor, int64_t bytes);

 private:
  const MappedFile& file(const std::string& location, const std::string& shown);

  std::string folder_;
  std::map<std::string, MappedFile> files_;  // by location
};

// The location that says "shapes only": the model was written without weights. Counts only together with the model's
// metadata `stepc.weights=none`.
constexpr std::string_view kNoWeightsLocation = "stepc-no-weights";

std::string external_location(const onnx::TensorProto& tensor);  // "" when there is none

}  // namespace stepc::onnx_import
