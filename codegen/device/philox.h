#pragma once

#include "codegen/device/function.h"

#include <stdint.h>

namespace stepc_device {

// Block `index` of a random tensor, four elements: Philox4x32-10 (Salmon et al., SC 2011), as in ir/philox.h.
struct PhiloxWords {
  uint32_t w0, w1, w2, w3;
};
inline STEPC_DEVICE PhiloxWords philox_words(int64_t key, int64_t offset, int64_t index) {
  const uint64_t block = static_cast<uint64_t>(index);
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(static_cast<uint64_t>(offset));
  uint32_t c3 = static_cast<uint32_t>(static_cast<uint64_t>(offset) >> 32);
  uint32_t k0 = static_cast<uint32_t>(static_cast<uint64_t>(key));
  uint32_t k1 = static_cast<uint32_t>(static_cast<uint64_t>(key) >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57U} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {c0, c1, c2, c3};
}

// A word as a number in [0, 1).
inline STEPC_DEVICE float philox_uniform_of(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

// Element `index` of a random tensor.
inline STEPC_DEVICE float philox_uniform(int64_t key, int64_t offset, int64_t index) {
  const PhiloxWords words = philox_words(key, offset, index / 4);
  const int64_t word = index % 4;
  return philox_uniform_of(word == 0 ? words.w0 : (word == 1 ? words.w1 : (word == 2 ? words.w2 : words.w3)));
}

}  // namespace stepc_device
