#pragma once

#include "ir/shape.h"

#include <cstddef>
#include <span>
#include <vector>

namespace stepc {

// Row-major bytes of a tensor that someone else owns (a mapped weight file, a Tensor, an arena).
struct TensorView {
  Type type;
  const std::byte* data = nullptr;

  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), static_cast<size_t>(type.shape.numel())};
  }
};

// A tensor in host memory, row-major, that owns its bytes.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Type type);  // zero-filled
  Tensor(Type type, std::span<const std::byte> bytes);

  static Tensor scalar(Dtype dtype, double value);
  static Tensor of_i64(std::span<const int64_t> values, Shape shape);
  static Tensor of_f32(std::span<const float> values, Shape shape);

  const Type& type() const { return type_; }
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  TensorView view() const { return {type_, bytes_.data()}; }

  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes_.data()), static_cast<size_t>(type_.shape.numel())};
  }
  template <typename T>
  std::span<const T> as() const {
    return view().as<T>();
  }

  bool operator==(const Tensor&) const = default;

 private:
  Type type_{Dtype::f32, Shape({0})};
  std::vector<std::byte> bytes_;
};

// One element as a number, and back (rounded to the tensor's dtype). i64 beyond 2^53 goes through element_i64.
double element(const TensorView& tensor, int64_t index);
int64_t element_i64(const TensorView& tensor, int64_t index);
void set_element(Tensor& tensor, int64_t index, double value);

}  // namespace stepc
