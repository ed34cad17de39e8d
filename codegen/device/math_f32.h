#pragma once

#include "codegen/device/half.h"

// Transcendental functions in f32, by range reduction and polynomials, the same instructions in vector body and tail.
// Errors are bounded by tests/codegen/device_math_test.cpp over all of f32. Infinities, NaN, zeros and subnormals are
// right. Coefficients: minimax polynomials by N. Juffa (public postings, BSD-2-Clause).
namespace stepc_device {

inline STEPC_DEVICE float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline STEPC_DEVICE float abs_f32(float a) { return __builtin_fabsf(a); }
inline STEPC_DEVICE float with_sign(float magnitude, float sign) { return __builtin_copysignf(magnitude, sign); }
inline STEPC_DEVICE float pow2_f32(int32_t exponent) {
  return bits_of<float>((exponent + 127) << 23);
}  // exponent in [-126, 127]

// e^x = 2^i · fraction with x = i·ln 2 + f, |f| <= ln 2 / 2. `shifted` is 1.5·2^23 + i: the integer is in the low bits.
struct ExpParts {
  float shifted, fraction;
};
inline STEPC_DEVICE ExpParts exp_parts(float x) {
  const float shifted = fma_f32(x, 1.442695F, 12582912.0F);
  const float i = shifted - 12582912.0F;
  float f = fma_f32(i, -0x1.62e400p-1F, x);
  f = fma_f32(i, -0x1.7f7d1cp-20F, f);
  float r = 0x1.694000p-10F;
  r = fma_f32(r, f, 0x1.125edcp-7F);
  r = fma_f32(r, f, 0x1.555b5ap-5F);
  r = fma_f32(r, f, 0x1.555450p-3F);
  r = fma_f32(r, f, 0x1.fffff6p-2F);
  r = fma_f32(r, f, 1.0F);
  r = fma_f32(r, f, 1.0F);
  return {shifted, r};
}

// 1 ulp. 2^i in two factors reaches subnormals with one rounding.
inline STEPC_DEVICE float exp_f32(float x) {
  const float above = x < -104.0F ? -104.0F : x;
  const ExpParts parts = exp_parts(above > 89.0F ? 89.0F : above);
  const int32_t exponent = bits_of<int32_t>(parts.shifted) - 0x4b400000;
  const int32_t half = exponent >> 1;
  const int32_t first = x == x ? half : 0;
  const int32_t second = x == x ? exponent - half : 0;
  return parts.fraction * pow2_f32(first) * pow2_f32(second);
}

// e^x where a result under e^-87 may be 0 and one over e^88 infinite: half the work. 1 ulp between.
inline STEPC_DEVICE float exp_bounded_f32(float x) {
  const ExpParts parts = exp_parts(x > 89.0F ? 89.0F : x);
  const float power = bits_of<float>((bits_of<uint32_t>(parts.shifted) << 23) + 0x3f800000U);
  return x < -87.0F ? 0.0F : parts.fraction * power;
}

// 1 ulp. x = 2^i · (1 + m) with 1 + m in [2/3, 4/3].
inline STEPC_DEVICE float log_f32(float x) {
  const bool tiny = x < 0x1p-126F;
  const float a = tiny ? x * 0x1p23F : x;
  const uint32_t exponent = (bits_of<uint32_t>(a) - 0x3f2aaaabU) & 0xff800000U;
  const float m = bits_of<float>(bits_of<uint32_t>(a) - exponent) - 1.0F;
  const float i = fma_f32(static_cast<float>(static_cast<int32_t>(exponent)), 0x1p-23F, tiny ? -23.0F : 0.0F);
  const float s = m * m;
  float r = -0x1.0ae000p-3F;
  float t = 0x1.208000p-3F;
  r = fma_f32(r, s, -0x1.f198b2p-4F);
  t = fma_f32(t, s, 0x1.1e5740p-3F);
  r = fma_f32(r, s, -0x1.55b36cp-3F);
  t = fma_f32(t, s, 0x1.99d8b2p-3F);
  r = fma_f32(r, s, -0x1.fffe02p-3F);
  r = fma_f32(t, m, r);
  r = fma_f32(r, m, 0x1.5554fap-2F);
  r = fma_f32(r, m, -0.5F);
  r = fma_f32(r, s, m);
  r = fma_f32(i, 0x1.62e430p-1F, r);
  const float special = x == 0.0F ? -__builtin_inff() : (x < 0.0F ? __builtin_nanf("") : x);
  return x > 0.0F && x < __builtin_inff() ? r : special;
}

// 2 ulp. An odd polynomial near 0 (Cephes), 1 - 2 / (e^2x + 1) beyond.
inline STEPC_DEVICE float tanh_f32(float x) {
  const float a = abs_f32(x);
  const float z = x * x;
  float p = -5.70498872745E-3F;
  p = fma_f32(p, z, 2.06390887954E-2F);
  p = fma_f32(p, z, -5.37397155531E-2F);
  p = fma_f32(p, z, 1.33314422036E-1F);
  p = fma_f32(p, z, -3.33332819422E-1F);
  const float near = fma_f32(p * z, x, x);
  const float far = 1.0F - 2.0F / (exp_f32(a + a) + 1.0F);
  return with_sign(a < 0.625F ? near : far, x);
}

// 1 ulp. A polynomial near 0, 1 - e^q(|x|) beyond.
inline STEPC_DEVICE float erf_f32(float x) {
  const float t = abs_f32(x);
  const float s = x * x;
  const float u = fma_f32(-0x1.fd1438p-9F, t, 0x1.8d6342p-6F);
  float far = fma_f32(-0x1.220000p-16F, t, 0x1.91cfb2p-12F);
  far = fma_f32(far, s, u);
  far = fma_f32(far, t, -0x1.b55cb8p-4F);
  far = fma_f32(far, t, -0x1.450aa0p-1F);
  far = fma_f32(far, t, -0x1.079d0cp-3F);
  far = fma_f32(far, t, -t);
  const float clamped = t > 5.0F ? -64.0F : far;  // the polynomial is not monotonic far out
  const float large = with_sign(1.0F - exp_f32(clamped), x);
  float near = -0x1.38e000p-11F;
  near = fma_f32(near, s, 0x1.471a58p-8F);
  near = fma_f32(near, s, -0x1.b691b2p-6F);
  near = fma_f32(near, s, 0x1.ce1c44p-4F);
  near = fma_f32(near, s, -0x1.812700p-2F);
  near = fma_f32(near, s, 0x1.06eba8p-3F);
  near = fma_f32(near, x, x);
  return x != x ? x : (t > 0.927734375F ? large : near);
}

// 2 ulp. 1 / (1 + e^-x) without overflow on either side.
inline STEPC_DEVICE float sigmoid_f32(float x) {
  const float e = exp_f32(-abs_f32(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

}  // namespace stepc_device
