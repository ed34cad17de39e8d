#pragma once

#include "ir/shape.h"

namespace stepc {

// Calls f(coordinates) for every point of `shape` in row-major order: the k-th call is for linear index k.
template <typename F>
void for_each_point(const Shape& shape, F&& f) {
  Dims point(shape.rank(), 0);
  for (int64_t k = 0; k < shape.numel(); ++k) {
    f(static_cast<const Dims&>(point));
    for (size_t axis = shape.rank(); axis-- > 0;) {
      if (++point[axis] < shape[axis]) break;
      point[axis] = 0;
    }
  }
}

// Σ point[i]·strides[i]
inline int64_t offset_of(const Dims& point, const Dims& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < point.size(); ++i) offset += point[i] * strides[i];
  return offset;
}

// A shape seen from one axis: element (outer, k, inner) is at (outer·size + k)·inner_count + inner.
struct AxisView {
  int64_t outer_count = 1;
  int64_t size = 1;
  int64_t inner_count = 1;

  AxisView(const Shape& shape, size_t axis) : size(shape[axis]) {
    for (size_t i = 0; i < axis; ++i) outer_count *= shape[i];
    for (size_t i = axis + 1; i < shape.rank(); ++i) inner_count *= shape[i];
  }
  int64_t index(int64_t outer, int64_t k, int64_t inner) const { return (outer * size + k) * inner_count + inner; }
};

}  // namespace stepc
