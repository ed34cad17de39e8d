#pragma once

#include <cstdint>

namespace stepc {

// IEEE binary16 and bfloat16 as bit patterns. Conversions to them round to nearest, ties to even; NaN stays NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

}  // namespace stepc
