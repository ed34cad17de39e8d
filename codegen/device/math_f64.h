#pragma once

#include "codegen/device/math_f32.h"

// f32 functions that are computed in f64 and rounded once. sin, cos and pow are within 1 ulp.
namespace stepc_device {

inline STEPC_DEVICE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Taylor polynomials on [-pi/4, pi/4] after x - k·pi/2 with pi/2 in two parts; the remainder is exact to 2^-70 for
// |x| <= 2^30. Beyond, the C library reduces.
inline STEPC_DEVICE double sin_quadrant(double r) {
  const double z = r * r;
  double p = -1.0 / 39916800.0;
  p = fma_f64(p, z, 1.0 / 362880.0);
  p = fma_f64(p, z, -1.0 / 5040.0);
  p = fma_f64(p, z, 1.0 / 120.0);
  p = fma_f64(p, z, -1.0 / 6.0);
  return fma_f64(p * z, r, r);
}

inline STEPC_DEVICE double cos_quadrant(double r) {
  const double z = r * r;
  double p = 1.0 / 479001600.0;
  p = fma_f64(p, z, -1.0 / 3628800.0);
  p = fma_f64(p, z, 1.0 / 40320.0);
  p = fma_f64(p, z, -1.0 / 720.0);
  p = fma_f64(p, z, 1.0 / 24.0);
  p = fma_f64(p, z, -0.5);
  return fma_f64(p, z, 1.0);
}

// sin(x + quarter·pi/2)
inline STEPC_DEVICE float sin_shifted(float x, int64_t quarter) {
  const double k = __builtin_rint(static_cast<double>(x) * 0x1.45f306dc9c883p-1);
  double r = fma_f64(k, -0x1.921fb54442d18p+0, static_cast<double>(x));
  r = fma_f64(k, -0x1.1a62633145c07p-54, r);
  const int64_t quadrant = static_cast<int64_t>(k) + quarter;
  const double value = (quadrant & 1) != 0 ? cos_quadrant(r) : sin_quadrant(r);
  return static_cast<float>((quadrant & 2) != 0 ? -value : value);
}

inline STEPC_DEVICE float sin_f32(float x) {
  if (__builtin_expect(!(abs_f32(x) <= 0x1p30F), 0)) return static_cast<float>(__builtin_sin(static_cast<double>(x)));
  return x == 0.0F ? x : sin_shifted(x, 0);
}

inline STEPC_DEVICE float cos_f32(float x) {
  if (__builtin_expect(!(abs_f32(x) <= 0x1p30F), 0)) return static_cast<float>(__builtin_cos(static_cast<double>(x)));
  return sin_shifted(x, 1);
}

// log of a positive finite f64 to about 2^-44: 2·atanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)).
inline STEPC_DEVICE double log_of_positive(double x) {
  const int64_t exponent = (bits_of<int64_t>(x) - 0x3fe6a09e667f3bcd) >> 52;
  const double m = bits_of<double>(bits_of<int64_t>(x) - (exponent << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 2.0 / 15.0;
  p = fma_f64(p, z, 2.0 / 13.0);
  p = fma_f64(p, z, 2.0 / 11.0);
  p = fma_f64(p, z, 2.0 / 9.0);
  p = fma_f64(p, z, 2.0 / 7.0);
  p = fma_f64(p, z, 2.0 / 5.0);
  p = fma_f64(p, z, 2.0 / 3.0);
  p = fma_f64(p, z, 2.0);
  return fma_f64(static_cast<double>(exponent), 0x1.62e42fefa39efp-1, p * s);
}

// e^x rounded to f32, x in f64.
inline STEPC_DEVICE float exp_rounded(double x) {
  const double above = x < -110.0 ? -110.0 : x;
  const double a = above > 100.0 ? 100.0 : above;
  const double i = __builtin_rint(a * 0x1.71547652b82fep+0);
  const double f = fma_f64(i, -0x1.62e42fefa39efp-1, a);
  double r = 1.0 / 39916800.0;
  r = fma_f64(r, f, 1.0 / 3628800.0);
  r = fma_f64(r, f, 1.0 / 362880.0);
  r = fma_f64(r, f, 1.0 / 40320.0);
  r = fma_f64(r, f, 1.0 / 5040.0);
  r = fma_f64(r, f, 1.0 / 720.0);
  r = fma_f64(r, f, 1.0 / 120.0);
  r = fma_f64(r, f, 1.0 / 24.0);
  r = fma_f64(r, f, 1.0 / 6.0);
  r = fma_f64(r, f, 0.5);
  r = fma_f64(r, f, 1.0);
  r = fma_f64(r, f, 1.0);
  const int64_t exponent = x == x ? static_cast<int64_t>(i) : 0;
  return static_cast<float>(r * bits_of<double>((exponent + 1023) << 52));
}

// C's pow: sign from an odd integer exponent, NaN for a negative base with a fraction, 1 for pow(x, 0) and pow(1, y).
inline STEPC_DEVICE float pow_f32(float x, float y) {
  const float a = abs_f32(x);
  const double finite_log = log_of_positive(static_cast<double>(a));
  const double infinite_log = a == 0.0F ? -__builtin_inf() : static_cast<double>(a);  // infinity and NaN stay
  const double log = a > 0.0F && a < __builtin_inff() ? finite_log : infinite_log;
  const float magnitude = a == 1.0F && y == y ? 1.0F : exp_rounded(static_cast<double>(y) * log);
  const bool integral = __builtin_rintf(y) == y;
  const bool odd = integral && abs_f32(y) < 0x1p24F && (static_cast<int64_t>(abs_f32(y) < 0x1p24F ? y : 0.0F) & 1) != 0;
  const bool negative = bits_of<int32_t>(x) < 0;
  const float with_parity = negative && odd ? -magnitude : magnitude;
  const float result = x < 0.0F && !integral && a < __builtin_inff() ? __builtin_nanf("") : with_parity;
  return y == 0.0F || x == 1.0F ? 1.0F : result;
}

}  // namespace stepc_device
