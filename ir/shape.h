#pragma once

#include "ir/dtype.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace stepc {

using Dims = std::vector<int64_t>;

// A static shape: dims >= 0, rank 0 is a scalar. Construction refuses negative dims and element counts past int64.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(Dims(dims)) {}
  explicit Shape(Dims dims);

  size_t rank() const { return dims_.size(); }
  int64_t operator[](size_t axis) const { return dims_[axis]; }
  const Dims& dims() const { return dims_; }
  int64_t numel() const { return numel_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  bool operator==(const Shape& other) const { return dims_ == other.dims_; }

 private:
  Dims dims_;
  int64_t numel_ = 1;
};

std::string to_string(const Shape& shape);  // "[4,512,2560]", "[]"

struct Type {
  Dtype dtype = Dtype::f32;
  Shape shape;
  int64_t bytes() const;
  bool operator==(const Type&) const = default;
};

std::string to_string(const Type& type);  // "f32[4,512]"

// NumPy broadcasting. Throws UserError naming both shapes where they do not broadcast.
Shape broadcast_shapes(const Shape& a, const Shape& b);
bool broadcasts_to(const Shape& from, const Shape& to);

// Maps a possibly negative axis into [0, rank). Throws UserError when out of range.
size_t normalize_axis(int64_t axis, size_t rank);

Dims row_major_strides(const Shape& shape);
// Strides (in elements, 0 on broadcast axes) with which `from`, row-major, is read over the index space `to`.
Dims broadcast_strides(const Shape& from, const Shape& to);

Shape permute(const Shape& shape, std::span<const int64_t> perm);
Shape reduce(const Shape& shape, std::span<const int64_t> axes, bool keepdims);
Dims inverse_permutation(std::span<const int64_t> perm);

}  // namespace stepc
