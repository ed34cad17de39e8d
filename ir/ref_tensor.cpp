#include "ir/ref_tensor.h"

#include "ir/half.h"
#include "ir/support/error.h"

namespace stepc {
namespace {

// Integers go through int64, never through double: i64 has more than 53 bits.
void store_integer(Tensor& tensor, size_t index, int64_t value) {
  switch (tensor.type().dtype) {
    case Dtype::i64: tensor.as<int64_t>()[index] = value; return;
    case Dtype::i32: tensor.as<int32_t>()[index] = static_cast<int32_t>(value); return;
    case Dtype::i8: tensor.as<int8_t>()[index] = static_cast<int8_t>(value); return;
    case Dtype::u8: tensor.as<uint8_t>()[index] = static_cast<uint8_t>(value); return;
    case Dtype::boolean: tensor.as<uint8_t>()[index] = static_cast<uint8_t>(value != 0); return;
    default: CHECK(false, "integer element of {}", to_string(tensor.type()));
  }
}

}  // namespace

RefTensor::RefTensor(Type t) : type(std::move(t)) {
  const auto count = static_cast<size_t>(numel());
  if (is_real())
    real.resize(count);
  else
    integer.resize(count);
}

RefTensor::RefTensor(const TensorView& tensor) : RefTensor(tensor.type) {
  for (int64_t i = 0; i < numel(); ++i)
    if (is_real())
      real[static_cast<size_t>(i)] = element(tensor, i);
    else
      integer[static_cast<size_t>(i)] = element_i64(tensor, i);
}

double RefTensor::at(int64_t index) const {
  const auto i = static_cast<size_t>(index);
  return is_real() ? real[i] : static_cast<double>(integer[i]);
}

void RefTensor::set(int64_t index, double value) {
  const auto i = static_cast<size_t>(index);
  if (is_real())
    real[i] = value;
  else
    integer[i] = static_cast<int64_t>(value);
}

void RefTensor::copy(int64_t index, const RefTensor& source, int64_t source_index) {
  if (is_real())
    real[static_cast<size_t>(index)] = source.real[static_cast<size_t>(source_index)];
  else
    integer[static_cast<size_t>(index)] = source.integer[static_cast<size_t>(source_index)];
}

Tensor RefTensor::to_tensor() const {
  Tensor tensor(type);
  for (int64_t i = 0; i < numel(); ++i)
    if (is_real())
      set_element(tensor, i, real[static_cast<size_t>(i)]);
    else
      store_integer(tensor, static_cast<size_t>(i), integer[static_cast<size_t>(i)]);
  return tensor;
}

void RefTensor::round_to_dtype() {
  if (type.dtype == Dtype::f64) return;
  for (double& value : real) value = round_to(type.dtype, value);
}

double round_to(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::f32: return static_cast<float>(value);
    case Dtype::f16: return f16_to_f32(f32_to_f16(static_cast<float>(value)));
    case Dtype::bf16: return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
    default: return value;
  }
}

}  // namespace stepc
