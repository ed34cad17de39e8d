#pragma once

#include "ir/kernel.h"

#include <cstddef>
#include <span>
#include <vector>

namespace stepc::cuda {

// Which loads and stores of a nest may be made for `width` neighbouring points of one dim at once: their elements lie
// side by side, and the first one at a multiple of the access's size. That is proven by the greatest common divisor of
// base, offset and strides.
struct VectorAccess {
  int width = 1;             // elements; 1: nothing may
  std::vector<bool> loads;   // per source
  std::vector<bool> stores;  // per store
};

// The widest that as many as possible allow, `most` at the most. `alignments`: per buffer, the bytes that its base
// address is known to be a multiple of.
VectorAccess vector_access(const Kernel& kernel, size_t dim, std::span<const int64_t> alignments, int most);

}  // namespace stepc::cuda
