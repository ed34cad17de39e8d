#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepc {

enum class Dtype : uint8_t { f32, f64, f16, bf16, i64, i32, i8, u8, boolean };

int64_t dtype_bytes(Dtype dtype);
std::string_view dtype_name(Dtype dtype);                     // as in text IR: "f32", "bool"
std::string_view dtype_onnx_name(Dtype dtype);                // as in JSON: "float32", "bool"
std::optional<Dtype> dtype_from_name(std::string_view name);  // either spelling

constexpr bool is_float(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}
constexpr bool is_integer(Dtype dtype) { return !is_float(dtype) && dtype != Dtype::boolean; }

// The dtype in which softmax, norms and losses compute, whatever the dtype of their float operands.
constexpr Dtype statistics_dtype(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

}  // namespace stepc
