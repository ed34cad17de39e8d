#pragma once

#include "codegen/device/function.h"

#include <stdint.h>

// 16-bit floats as bit patterns: exact to f32, round to nearest even back. Branch-free, so loops of them vectorise.
namespace stepc_device {

template <typename To, typename From>
inline STEPC_DEVICE __attribute__((always_inline)) To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To result;
  __builtin_memcpy(&result, &value, sizeof(To));
  return result;
}

inline STEPC_DEVICE float bf16_to_f32(uint16_t bits) { return bits_of<float>(static_cast<uint32_t>(bits) << 16); }

inline STEPC_DEVICE uint16_t f32_to_bf16(float value) {
  const uint32_t bits = bits_of<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

// The exponents differ by 112: a multiplication by 2^112 rebiases normal and subnormal numbers alike.
inline STEPC_DEVICE float f16_to_f32(uint16_t half) {
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffU) << 13;
  const uint32_t finite = bits_of<uint32_t>(bits_of<float>(magnitude) * 0x1p112F);
  const uint32_t result = magnitude >= 0x0f800000U ? (magnitude | 0x7f800000U) : finite;
  return bits_of<float>(result | (static_cast<uint32_t>(half & 0x8000U) << 16));
}

inline STEPC_DEVICE uint16_t f32_to_f16(float value) {
  const uint32_t bits = bits_of<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;  // NaN, or 65536 and above
  // Adding 1/2 shifts a subnormal result's bits to the bottom, rounded by the adder.
  const uint32_t subnormal = bits_of<uint32_t>(bits_of<float>(magnitude) + 0.5F) - 0x3f000000U;
  const uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const uint32_t result = magnitude >= 0x47800000U ? large : (magnitude < 0x38800000U ? subnormal : normal);
  return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000U));
}

inline STEPC_DEVICE float round_bf16(float value) { return bf16_to_f32(f32_to_bf16(value)); }
inline STEPC_DEVICE float round_f16(float value) { return f16_to_f32(f32_to_f16(value)); }

}  // namespace stepc_device
