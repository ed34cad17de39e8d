#pragma once

#include "ir/tensor.h"

#include <cstdint>
#include <vector>

namespace stepc {

// A tensor of the reference interpreter: floats as double whatever the dtype, integers and booleans as int64.
// Row-major. Exactly one of the vectors is in use, decided by the dtype.
struct RefTensor {
  Type type;
  std::vector<double> real;      // float dtypes
  std::vector<int64_t> integer;  // the others

  RefTensor() = default;
  explicit RefTensor(Type t);  // zero-filled
  explicit RefTensor(const TensorView& tensor);

  int64_t numel() const { return type.shape.numel(); }
  bool is_real() const { return is_float(type.dtype); }
  // Element as a number whatever the dtype.
  double at(int64_t index) const;
  void set(int64_t index, double value);
  // this[index] = source[source_index], exactly; the dtypes are equal.
  void copy(int64_t index, const RefTensor& source, int64_t source_index);
  Tensor to_tensor() const;  // rounds to the dtype
  // Rounds every element to the dtype, as a machine that stores it would (f64: nothing happens).
  void round_to_dtype();
};

double round_to(Dtype dtype, double value);

}  // namespace stepc
