#include "models/onnx/write.h"

#include "ir/support/checked.h"
#include "models/atomic_file.h"
#include "models/onnx/element_types.h"

#include <filesystem>

namespace stepc::onnx_import {
namespace {

constexpr int64_t kInlineBytes = int64_t{1} << 30;  // protobuf holds 2 GiB; half of that leaves room

void set_entry(onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

void clear_payload(onnx::TensorProto& tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

int64_t payload_bytes(const onnx::GraphProto& graph) {
  int64_t total = 0;
  for (const auto& tensor : graph.initializer()) {
    const Shape shape(Dims(tensor.dims().begin(), tensor.dims().end()));
    total =
        checked_add(total, checked_mul(shape.numel(), dtype_bytes(dtype_of(tensor.data_type()).value_or(Dtype::f64))));
  }
  return total;
}

void write_external(onnx::ModelProto& model, const Payload& payload, const std::string& path) {
  AtomicFile data(path + ".data");
  data.reserve(payload_bytes(model.graph()));
  const std::string location = std::filesystem::path(path).filename().string() + ".data";
  size_t offset = 0;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const Tensor weight = payload(tensor);
    set_external(tensor, location);
    set_entry(tensor, "offset", std::to_string(offset));
    set_entry(tensor, "length", std::to_string(weight.bytes().size()));
    data.write(weight.bytes());
    offset += weight.bytes().size();
  }
  data.commit();
}

}  // namespace

void set_external(onnx::TensorProto& tensor, const std::string& location) {
  clear_payload(tensor);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  set_entry(tensor, "location", location);
}

void write_model(const onnx::ModelProto& model, const std::string& path) {
  std::string bytes;
  if (!model.SerializeToString(&bytes)) user_error("{}: the model exceeds what ONNX can hold in one file", path);
  write_file_atomically(path, bytes);
}

void write_with_weights(onnx::ModelProto& model, const Payload& payload, const std::string& path) {
  if (payload_bytes(model.graph()) > kInlineBytes) {
    write_external(model, payload, path);
  } else {
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
      const Tensor weight = payload(tensor);
      clear_payload(tensor);
      tensor.set_raw_data(weight.bytes().data(), weight.bytes().size());
    }
  }
  write_model(model, path);
}

}  // namespace stepc::onnx_import
