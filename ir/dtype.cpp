#include "ir/dtype.h"

#include "ir/support/error.h"

#include <array>

namespace stepc {
namespace {

struct DtypeInfo {
  std::string_view name;
  std::string_view onnx_name;
  int64_t bytes;
};

constexpr std::array<DtypeInfo, 9> kDtypes{{
    {"f32", "float32", 4},
    {"f64", "float64", 8},
    {"f16", "float16", 2},
    {"bf16", "bfloat16", 2},
    {"i64", "int64", 8},
    {"i32", "int32", 4},
    {"i8", "int8", 1},
    {"u8", "uint8", 1},
    {"bool", "bool", 1},
}};

const DtypeInfo& info(Dtype dtype) {
  const auto index = static_cast<size_t>(dtype);
  CHECK(index < kDtypes.size(), "dtype {}", index);
  return kDtypes[index];
}

}  // namespace

int64_t dtype_bytes(Dtype dtype) { return info(dtype).bytes; }
std::string_view dtype_name(Dtype dtype) { return info(dtype).name; }
std::string_view dtype_onnx_name(Dtype dtype) { return info(dtype).onnx_name; }

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kDtypes.size(); ++i)
    if (kDtypes[i].name == name || kDtypes[i].onnx_name == name) return static_cast<Dtype>(i);
  return std::nullopt;
}

}  // namespace stepc
