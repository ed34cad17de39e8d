#pragma once

#include "ir/kernel.h"

namespace stepc {

struct BatchOffsets {
  int64_t a = 0, b = 0, c = 0;
};

// Offsets of point `index` of the axes' space, row-major.
inline BatchOffsets offsets_of(const std::vector<MatmulWork::Batch>& axes, int64_t index) {
  BatchOffsets result;
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t at = index % axes[i].extent;
    index /= axes[i].extent;
    result.a += at * axes[i].a;
    result.b += at * axes[i].b;
    result.c += at * axes[i].c;
  }
  return result;
}

inline int64_t points(const std::vector<MatmulWork::Batch>& axes) {
  int64_t count = 1;
  for (const MatmulWork::Batch& axis : axes) count *= axis.extent;
  return count;
}

}  // namespace stepc
