#include "models/onnx/element_types.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace stepc::onnx_import {

std::optional<Dtype> dtype_of(int32_t onnx_type) {
  switch (onnx_type) {
    case onnx::TensorProto::FLOAT: return Dtype::f32;
    case onnx::TensorProto::DOUBLE: return Dtype::f64;
    case onnx::TensorProto::FLOAT16: return Dtype::f16;
    case onnx::TensorProto::BFLOAT16: return Dtype::bf16;
    case onnx::TensorProto::INT64: return Dtype::i64;
    case onnx::TensorProto::INT32: return Dtype::i32;
    case onnx::TensorProto::INT8: return Dtype::i8;
    case onnx::TensorProto::UINT8: return Dtype::u8;
    case onnx::TensorProto::BOOL: return Dtype::boolean;
    default: return std::nullopt;
  }
}

std::string element_type_name(int32_t onnx_type) {
  if (!onnx::TensorProto::DataType_IsValid(onnx_type)) return fmt::format("type {}", onnx_type);
  return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type));
}

}  // namespace stepc::onnx_import
