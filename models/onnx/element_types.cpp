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

int32_t element_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return onnx::TensorProto::FLOAT;
    case Dtype::f64: return onnx::TensorProto::DOUBLE;
    case Dtype::f16: return onnx::TensorProto::FLOAT16;
    case Dtype::bf16: return onnx::TensorProto::BFLOAT16;
    case Dtype::i64: return onnx::TensorProto::INT64;
    case Dtype::i32: return onnx::TensorProto::INT32;
    case Dtype::i8: return onnx::TensorProto::INT8;
    case Dtype::u8: return onnx::TensorProto::UINT8;
    case Dtype::boolean: return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

std::string element_type_name(int32_t onnx_type) {
  if (!onnx::TensorProto::DataType_IsValid(onnx_type)) return fmt::format("type {}", onnx_type);
  return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type));
}

}  // namespace stepc::onnx_import
