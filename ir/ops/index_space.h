#pragma once

#include "ir/shape.h"

#include <array>

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

// Calls f(offsets) for every point of a space of sizes `dims`, in row-major order: offsets[n] = Σ
// point[i]·strides[n][i].
template <size_t N, typename F>
void for_each_offset(const Dims& dims, const std::array<Dims, N>& strides, F&& f) {
  for (const int64_t dim : dims)
    if (dim == 0) return;
  std::array<int64_t, N> offsets{};
  if (dims.empty()) return f(static_cast<const std::array<int64_t, N>&>(offsets));
  const size_t last = dims.size() - 1;
  std::array<int64_t, N> steps;  // along the last axis, whose loop takes nearly all the time
  for (size_t n = 0; n < N; ++n) steps[n] = strides[n][last];
  Dims point(last, 0);
  for (;;) {
    for (int64_t k = 0; k < dims[last]; ++k) {
      f(static_cast<const std::array<int64_t, N>&>(offsets));
      for (size_t n = 0; n < N; ++n) offsets[n] += steps[n];
    }
    for (size_t n = 0; n < N; ++n) offsets[n] -= steps[n] * dims[last];
    size_t axis = last;
    for (; axis > 0; --axis) {
      const size_t i = axis - 1;
      const bool carry = ++point[i] == dims[i];
      for (size_t n = 0; n < N; ++n) offsets[n] += carry ? -strides[n][i] * (dims[i] - 1) : strides[n][i];
      if (!carry) break;
      point[i] = 0;
    }
    if (axis == 0) return;
  }
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
