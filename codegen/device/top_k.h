#pragma once

#include <stdint.h>

namespace stepc_device {

// The indices of the k first elements in the order of top-k, best first: a NaN is above every number, equal elements
// come by index. at(i) is the element.
template <bool kLargest, typename At>
inline void top_k(const At& at, int64_t extent, int64_t k, int64_t* order, int64_t stride) {
  const auto above = [&](int64_t a, int64_t b) {  // strictly
    const auto x = at(a), y = at(b);
    return x != x ? y == y : x > y;
  };
  const auto before = [&](int64_t a, int64_t b) { return kLargest ? above(a, b) : above(b, a); };
  int64_t filled = 0;
  for (int64_t i = 0; i < extent; ++i) {
    if (filled == k && !before(i, order[(k - 1) * stride])) continue;
    int64_t place = filled < k ? filled++ : k - 1;
    for (; place > 0 && before(i, order[(place - 1) * stride]); --place)
      order[place * stride] = order[(place - 1) * stride];
    order[place * stride] = i;
  }
}

}  // namespace stepc_device
