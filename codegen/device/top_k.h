#pragma once

#include "codegen/device/function.h"

#include <stdint.h>

namespace stepc_device {

// The indices of the k first elements in the order of top-k, best first: a NaN is above every number, equal elements
// come by index. at(i) is the element; places.get(i) and places.set(i, index) are the results in memory.
template <bool kLargest, typename At, typename Places>
inline STEPC_DEVICE void top_k(const At& at, int64_t extent, int64_t k, const Places& places) {
  const auto above = [&](int64_t a, int64_t b) {  // strictly
    const auto x = at(a), y = at(b);
    return x != x ? y == y : x > y;
  };
  const auto before = [&](int64_t a, int64_t b) { return kLargest ? above(a, b) : above(b, a); };
  int64_t filled = 0;
  for (int64_t i = 0; i < extent; ++i) {
    if (filled == k && !before(i, places.get(k - 1))) continue;
    int64_t place = filled < k ? filled++ : k - 1;
    for (; place > 0 && before(i, places.get(place - 1)); --place) places.set(place, places.get(place - 1));
    places.set(place, i);
  }
}

}  // namespace stepc_device
