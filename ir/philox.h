#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stepc {

// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011):
// a bijection of the 128-bit counter for every 64-bit key, so any element of a random tensor can be made alone, and
// made again.
using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr int kPhiloxRounds = 10;
constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53U;
constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57U;
constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9U;  // the golden ratio
constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85U;  // √3 - 1

constexpr PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key = {key[0] + kPhiloxWeyl0, key[1] + kPhiloxWeyl1};
  }
  return counter;
}

// Element `index` of the random tensor with this key and offset: word index % 4 of the block whose counter is
// (index / 4, offset), low words first; the key's low word first.
constexpr uint32_t philox_word(int64_t key, int64_t offset, int64_t index) {
  const auto low = [](int64_t v) { return static_cast<uint32_t>(static_cast<uint64_t>(v)); };
  const auto high = [](int64_t v) { return static_cast<uint32_t>(static_cast<uint64_t>(v) >> 32); };
  const int64_t block = index / 4;
  const PhiloxCounter words =
      philox4x32_10({low(block), high(block), low(offset), high(offset)}, {low(key), high(key)});
  return words[static_cast<size_t>(index % 4)];
}

// In [0, 1): the upper 24 bits, which f32 holds exactly.
constexpr float philox_uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

}  // namespace stepc
