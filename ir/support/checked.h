#pragma once

#include "ir/support/error.h"

#include <cstdint>

namespace stepc {

// Sizes come from files, so every product and sum of them is checked. Throws UserError on overflow of int64.
inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) user_error("size overflow: {} * {} does not fit 64 bits", a, b);
  return result;
}

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) user_error("size overflow: {} + {} does not fit 64 bits", a, b);
  return result;
}

}  // namespace stepc
