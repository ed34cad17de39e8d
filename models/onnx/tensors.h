#pragma once

#include "ir/tensor.h"
#include "models/onnx/external_data.h"

#include <onnx/onnx_pb.h>

#include <deque>
#include <string>

namespace stepc::onnx_import {

// Tensors of the file as typed bytes. Payloads stay where they are, in the message or in a mapped file; only encodings
// that differ from the IR's memory layout (narrow types in int32_data, unaligned offsets) are copied.
class TensorReader {
 public:
  explicit TensorReader(std::string folder) : external_(std::move(folder)) {}

  // Throws UserError where type, shape and payload disagree. `tensor` must outlive the view, as must this reader.
  TensorView read(const onnx::TensorProto& tensor);
  ExternalData& external() { return external_; }

 private:
  ExternalData external_;
  std::deque<Tensor> copies_;
};

// The dtype and shape of a tensor of the file. Throws UserError for types that the IR lacks and impossible shapes.
Type type_of(const onnx::TensorProto& tensor);

// A copy with the dtype `to`; booleans become exactly 0 or 1. `to` is the view's own dtype or a wider float.
Tensor convert(const TensorView& view, Dtype to);

}  // namespace stepc::onnx_import
