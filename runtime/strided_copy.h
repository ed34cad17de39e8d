#pragma once

#include "ir/shape.h"

#include <cstddef>

namespace stepc {

// Copies a tensor that lies with `strides` (in elements) to row-major memory. The two may be the same place.
void copy_to_row_major(std::byte* to, const std::byte* from, const Type& type, const Dims& strides);

}  // namespace stepc
