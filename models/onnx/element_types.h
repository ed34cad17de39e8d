#pragma once

#include "ir/dtype.h"

#include <cstdint>
#include <optional>
#include <string>

namespace stepc::onnx_import {

// Element types by their numbers in TensorProto.DataType.
std::optional<Dtype> dtype_of(int32_t onnx_type);  // nothing for types that the IR lacks
int32_t element_type(Dtype dtype);
std::string element_type_name(int32_t onnx_type);  // "FLOAT16"; "type 99" for unknown numbers

// float32 for float16 and bfloat16, else the dtype itself.
constexpr Dtype widened(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype; }

}  // namespace stepc::onnx_import
