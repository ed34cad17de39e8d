#pragma once

// 16-bit floats as bit patterns: exact to f32, round to nearest even back, NaN stays NaN. Integer operations and exact
// conversions alone, so that every target gives the same bits (codegen/cpu/device/half.h does).
namespace stepc_device {

// Without constructors: arrays of them may be shared, or left without values.
struct half {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_f32(bfloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

__device__ __forceinline__ float to_f32(half value) {
  const unsigned sign = static_cast<unsigned>(value.bits & 0x8000U) << 16;
  const unsigned exponent = (value.bits >> 10) & 0x1fU;
  const unsigned mantissa = value.bits & 0x3ffU;
  const unsigned subnormal = __float_as_uint(static_cast<float>(mantissa) * 0x1p-24F);
  const unsigned normal = ((exponent + 112U) << 23) | (mantissa << 13);
  const unsigned special = 0x7f800000U | (mantissa << 13);
  return __uint_as_float(sign | (exponent == 0U ? subnormal : (exponent == 31U ? special : normal)));
}

__device__ __forceinline__ bfloat16 to_bf16(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const unsigned quiet = (bits >> 16) | 0x40U;
  return {static_cast<unsigned short>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded)};
}

__device__ __forceinline__ half to_f16(float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned magnitude = bits & 0x7fffffffU;
  const unsigned large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;  // NaN, or 65536 and above
  // Adding 1/2 shifts a subnormal result's bits to the bottom, rounded by the adder.
  const unsigned subnormal = __float_as_uint(__uint_as_float(magnitude) + 0.5F) - 0x3f000000U;
  const unsigned normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const unsigned result = magnitude >= 0x47800000U ? large : (magnitude < 0x38800000U ? subnormal : normal);
  return {static_cast<unsigned short>(result | ((bits >> 16) & 0x8000U))};
}

// TF32, f32 with 10 bits of mantissa: to nearest, ties away from zero, as cvt.rna.tf32.f32 does.
__device__ __forceinline__ unsigned to_tf32(float value) {
#ifdef STEPC_SIMT
  const unsigned bits = __float_as_uint(value);
  return (bits & 0x7fffffffU) > 0x7f800000U ? 0x7fffffffU : (bits + 0x1000U) & 0xffffe000U;
#else
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(rounded) : "f"(value));
  return rounded;
#endif
}

}  // namespace stepc_device
