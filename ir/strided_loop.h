#pragma once

#include "ir/shape.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace stepc {

// Calls body(offsets) for every coordinate of `dims` in row-major order, where offsets[n] = Σ c[i]·strides[n][i].
template <size_t N, typename Body>
void for_each_coordinate(const Dims& dims, const std::array<Dims, N>& strides, Body&& body) {
  for (const int64_t dim : dims)
    if (dim == 0) return;
  std::array<int64_t, N> offsets{};
  Dims coordinate(dims.size(), 0);
  for (;;) {
    body(offsets);
    size_t axis = dims.size();
    for (;; --axis) {
      if (axis == 0) return;
      const size_t i = axis - 1;
      for (size_t n = 0; n < N; ++n) offsets[n] += strides[n][i];
      if (++coordinate[i] < dims[i]) break;
      for (size_t n = 0; n < N; ++n) offsets[n] -= strides[n][i] * dims[i];
      coordinate[i] = 0;
    }
  }
}

}  // namespace stepc
