#pragma once

#include "ir/tensor.h"

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>

namespace stepc::onnx_import {

// The payload of an initializer, in the dtype and shape that it declares.
using Payload = std::function<Tensor(const onnx::TensorProto&)>;

// Writes the model with these payloads: inside the file, or in FILE.data beside it where they exceed what protobuf
// holds. Files are written beside their place and renamed.
void write_with_weights(onnx::ModelProto& model, const Payload& payload, const std::string& path);

void write_model(const onnx::ModelProto& model, const std::string& path);

// External data at `location`, replacing any payload.
void set_external(onnx::TensorProto& tensor, const std::string& location);

}  // namespace stepc::onnx_import
