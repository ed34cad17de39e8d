#include "tests/models/model_text.h"

#include "ir/support/error.h"

#include <onnx/defs/parser.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace stepc {

TemporaryFolder::TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "stepc-models-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::string TemporaryFolder::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path(name), std::ios::binary) << bytes;
  return path(name);
}

onnx::ModelProto parse_model(const std::string& text) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(text.c_str());
  const auto status = parser.Parse(model);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

onnx::TensorProto float_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

ImportedModel import_proto(const onnx::ModelProto& model, const ImportOptions& options) {
  const TemporaryFolder folder;
  return import_onnx(folder.write("model.onnx", model.SerializeAsString()), options);
}

ImportedModel import_text(const std::string& text, const ImportOptions& options) {
  return import_proto(parse_model(text), options);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const size_t path_end = message.find("model.onnx: ");
    return path_end == std::string::npos ? message : message.substr(path_end + 12);
  }
  ADD_FAILURE() << "no error";
  return {};
}

std::string import_error(const onnx::ModelProto& model, const ImportOptions& options) {
  return error_of([&] { import_proto(model, options); });
}

std::string import_error(const std::string& text, const ImportOptions& options) {
  return import_error(parse_model(text), options);
}

}  // namespace stepc
