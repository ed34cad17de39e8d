#include "ir/ops/view.h"

#include "ir/ops/index_space.h"
#include "ir/support/error.h"

namespace stepc {

const Dims& per_axis(const InferArgs& args, std::string_view key, size_t rank) {
  const Dims& entries = args.attrs.integers(key);
  if (entries.size() != rank)
    user_error("attribute '{}' has {} entries for an operand of rank {}", key, entries.size(), rank);
  return entries;
}

void read_strided(RefTensor& out, const RefTensor& in, int64_t offset, const Dims& strides) {
  int64_t k = 0;
  for_each_point(out.type.shape, [&](const Dims& point) { out.copy(k++, in, offset + offset_of(point, strides)); });
}

}  // namespace stepc
