#include "ir/support/hash.h"

#include <fmt/format.h>

namespace stepc {

__extension__ typedef unsigned __int128 Wide;

void Hasher::update(std::span<const std::byte> bytes) {
  constexpr uint64_t kPrimeLow = 0x13b;  // the prime is 2^88 + 0x13b
  Wide hash = (Wide{high_} << 64) | low_;
  for (const std::byte byte : bytes) {
    hash ^= static_cast<uint8_t>(byte);
    hash = (hash << 88) + hash * kPrimeLow;
  }
  high_ = static_cast<uint64_t>(hash >> 64);
  low_ = static_cast<uint64_t>(hash);
}

std::string Hasher::hex() const { return fmt::format("{:016x}{:016x}", high_, low_); }

std::string digest(std::string_view text) {
  Hasher hasher;
  hasher.update(text);
  return hasher.hex();
}

}  // namespace stepc
