#include "runtime/memory.h"

#include "ir/support/error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace stepc {
namespace {

constexpr int64_t kAlignment = 64;
constexpr uint32_t kPoison = 0x7fc0dead;  // a quiet NaN as f32, an unlikely number as anything else

}  // namespace

void MemoryRegion::Free::operator()(std::byte* data) const { std::free(data); }

MemoryRegion::MemoryRegion(int64_t bytes, bool poison) : bytes_(bytes), poisoned_(poison) {
  const int64_t rounded = std::max<int64_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<size_t>(rounded))));
  if (data_ == nullptr) user_error("cannot allocate {} bytes of memory for the step", bytes);
  if (poison)
    std::fill_n(reinterpret_cast<uint32_t*>(data_.get()), rounded / 4, kPoison);
  else
    std::memset(data_.get(), 0, static_cast<size_t>(rounded));
}

int64_t MemoryRegion::high_water_bytes() const {
  if (!poisoned_) return 0;
  const auto* words = reinterpret_cast<const uint32_t*>(data_.get());
  int64_t count = bytes_ / 4;
  while (count > 0 && words[count - 1] == kPoison) --count;
  return count * 4;
}

}  // namespace stepc
