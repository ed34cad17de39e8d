#include "runtime/strided_copy.h"

#include <cstring>

namespace stepc {

void copy_to_row_major(std::byte* to, const std::byte* from, const Type& type, const Dims& strides) {
  const Shape& shape = type.shape;
  if (shape.numel() == 0) return;
  const auto size = static_cast<size_t>(dtype_bytes(type.dtype));
  // Trailing axes that lie row-major are copied as one run.
  int64_t run = 1;
  size_t outer = shape.rank();
  while (outer > 0 && (shape[outer - 1] == 1 || strides[outer - 1] == run)) run *= shape[--outer];

  Dims at(outer, 0);
  int64_t offset = 0;
  for (int64_t done = 0; done < shape.numel(); done += run) {
    std::memmove(to + static_cast<size_t>(done) * size, from + offset * static_cast<int64_t>(size),
                 static_cast<size_t>(run) * size);
    for (size_t axis = outer; axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace stepc
