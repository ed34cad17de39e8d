#include "ir/tensor.h"

#include "ir/half.h"
#include "ir/support/error.h"

#include <cstring>

namespace stepc {
namespace {

template <typename T>
T load(const TensorView& tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(Tensor& tensor, int64_t index, T value) {
  std::memcpy(tensor.bytes().data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

Tensor::Tensor(Type type) : type_(std::move(type)), bytes_(static_cast<size_t>(type_.bytes())) {}

Tensor::Tensor(Type type, std::span<const std::byte> bytes)
    : type_(std::move(type)), bytes_(bytes.begin(), bytes.end()) {
  CHECK(static_cast<int64_t>(bytes_.size()) == type_.bytes(), "{} bytes for {}", bytes_.size(), to_string(type_));
}

Tensor Tensor::scalar(Dtype dtype, double value) {
  Tensor tensor(Type{dtype, Shape()});
  set_element(tensor, 0, value);
  return tensor;
}

Tensor Tensor::of_i64(std::span<const int64_t> values, Shape shape) {
  return {Type{Dtype::i64, std::move(shape)}, std::as_bytes(values)};
}

Tensor Tensor::of_f32(std::span<const float> values, Shape shape) {
  return {Type{Dtype::f32, std::move(shape)}, std::as_bytes(values)};
}

double element(const TensorView& tensor, int64_t index) {
  switch (tensor.type.dtype) {
    case Dtype::f32: return load<float>(tensor, index);
    case Dtype::f64: return load<double>(tensor, index);
    case Dtype::f16: return f16_to_f32(load<uint16_t>(tensor, index));
    case Dtype::bf16: return bf16_to_f32(load<uint16_t>(tensor, index));
    default: return static_cast<double>(element_i64(tensor, index));
  }
}

int64_t element_i64(const TensorView& tensor, int64_t index) {
  switch (tensor.type.dtype) {
    case Dtype::i64: return load<int64_t>(tensor, index);
    case Dtype::i32: return load<int32_t>(tensor, index);
    case Dtype::i8: return load<int8_t>(tensor, index);
    case Dtype::u8: return load<uint8_t>(tensor, index);
    case Dtype::boolean: return load<uint8_t>(tensor, index) != 0 ? 1 : 0;
    default: CHECK(false, "integer element of {}", to_string(tensor.type)); return 0;
  }
}

void set_element(Tensor& tensor, int64_t index, double value) {
  switch (tensor.type().dtype) {
    case Dtype::f32: return store(tensor, index, static_cast<float>(value));
    case Dtype::f64: return store(tensor, index, value);
    case Dtype::f16: return store(tensor, index, f32_to_f16(static_cast<float>(value)));
    case Dtype::bf16: return store(tensor, index, f32_to_bf16(static_cast<float>(value)));
    case Dtype::i64: return store(tensor, index, static_cast<int64_t>(value));
    case Dtype::i32: return store(tensor, index, static_cast<int32_t>(value));
    case Dtype::i8: return store(tensor, index, static_cast<int8_t>(value));
    case Dtype::u8: return store(tensor, index, static_cast<uint8_t>(value));
    case Dtype::boolean: return store(tensor, index, static_cast<uint8_t>(value != 0));
  }
}

}  // namespace stepc
