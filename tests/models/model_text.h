#pragma once

#include "models/onnx/import.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <string>

namespace stepc {

// A folder that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const;  // its path

 private:
  std::string path_;
};

// A model in ONNX's own text syntax (onnx/defs/parser.h).
onnx::ModelProto parse_model(const std::string& text);

onnx::TensorProto float_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<float>& values);

// Writes and imports.
ImportedModel import_proto(const onnx::ModelProto& model, const ImportOptions& options = {});
ImportedModel import_text(const std::string& text, const ImportOptions& options = {});

// The message of the UserError that importing throws; a test failure and "" when it succeeds. One line without the
// path.
std::string import_error(const onnx::ModelProto& model, const ImportOptions& options = {});
std::string import_error(const std::string& text, const ImportOptions& options = {});
std::string error_of(const std::function<void()>& action);

}  // namespace stepc
