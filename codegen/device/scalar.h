#pragma once

#include "codegen/device/math_f64.h"

// The scalar operations of ir/scalar_dag.h by C++ type. 16-bit floats are f32 values, rounded by the caller.
namespace stepc_device {

template <typename T>
inline STEPC_DEVICE T minimum(T a, T b) {
  return a != a || a < b ? a : b;
}
template <typename T>
inline STEPC_DEVICE T maximum(T a, T b) {
  return a != a || a > b ? a : b;
}

inline STEPC_DEVICE float abs_of(float a) { return __builtin_fabsf(a); }
inline STEPC_DEVICE double abs_of(double a) { return __builtin_fabs(a); }
template <typename T>
inline STEPC_DEVICE T abs_of(T a) {
  return static_cast<T>(a < 0 ? -a : a);
}

inline STEPC_DEVICE float sign_of(float a) { return a > 0.0F ? 1.0F : (a < 0.0F ? -1.0F : a); }
inline STEPC_DEVICE double sign_of(double a) { return a > 0.0 ? 1.0 : (a < 0.0 ? -1.0 : a); }
template <typename T>
inline STEPC_DEVICE T sign_of(T a) {
  return static_cast<T>((a > 0) - (a < 0));
}

inline STEPC_DEVICE float sqrt_of(float a) { return __builtin_sqrtf(a); }
inline STEPC_DEVICE double sqrt_of(double a) { return __builtin_sqrt(a); }
inline STEPC_DEVICE float floor_of(float a) { return __builtin_floorf(a); }
inline STEPC_DEVICE double floor_of(double a) { return __builtin_floor(a); }
inline STEPC_DEVICE float ceil_of(float a) { return __builtin_ceilf(a); }
inline STEPC_DEVICE double ceil_of(double a) { return __builtin_ceil(a); }
inline STEPC_DEVICE float round_of(float a) { return __builtin_rintf(a); }
inline STEPC_DEVICE double round_of(double a) { return __builtin_rint(a); }

inline STEPC_DEVICE float exp_of(float a) { return exp_f32(a); }
inline STEPC_DEVICE float log_of(float a) { return log_f32(a); }
inline STEPC_DEVICE float erf_of(float a) { return erf_f32(a); }
inline STEPC_DEVICE float tanh_of(float a) { return tanh_f32(a); }
inline STEPC_DEVICE float sigmoid_of(float a) { return sigmoid_f32(a); }
inline STEPC_DEVICE float sin_of(float a) { return sin_f32(a); }
inline STEPC_DEVICE float cos_of(float a) { return cos_f32(a); }
inline STEPC_DEVICE float pow_of(float a, float b) { return pow_f32(a, b); }
inline STEPC_DEVICE float fma_of(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline STEPC_DEVICE float mod_of(float a, float b) { return __builtin_fmodf(a, b); }

// f64 uses the C library, whose scalar functions no compiler flag here replaces by vector variants.
inline STEPC_DEVICE double exp_of(double a) { return __builtin_exp(a); }
inline STEPC_DEVICE double log_of(double a) { return __builtin_log(a); }
inline STEPC_DEVICE double erf_of(double a) { return __builtin_erf(a); }
inline STEPC_DEVICE double tanh_of(double a) { return __builtin_tanh(a); }
inline STEPC_DEVICE double sin_of(double a) { return __builtin_sin(a); }
inline STEPC_DEVICE double cos_of(double a) { return __builtin_cos(a); }
inline STEPC_DEVICE double pow_of(double a, double b) { return __builtin_pow(a, b); }
inline STEPC_DEVICE double fma_of(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline STEPC_DEVICE double mod_of(double a, double b) { return __builtin_fmod(a, b); }
inline STEPC_DEVICE double sigmoid_of(double a) {
  const double e = __builtin_exp(-__builtin_fabs(a));
  return (a < 0.0 ? e : 1.0) / (1.0 + e);
}

inline STEPC_DEVICE float div_of(float a, float b) { return a / b; }
inline STEPC_DEVICE double div_of(double a, double b) { return a / b; }
// A zero divisor gives 0; the most negative number divided by -1 wraps around.
template <typename T>
inline STEPC_DEVICE T div_of(T a, T b) {
  return b == 0 ? T(0) : (b == T(-1) ? static_cast<T>(0 - static_cast<uint64_t>(a)) : static_cast<T>(a / b));
}
template <typename T>
inline STEPC_DEVICE T mod_of(T a, T b) {
  return b == 0 || b == T(-1) ? T(0) : static_cast<T>(a % b);
}
inline STEPC_DEVICE uint8_t div_of(uint8_t a, uint8_t b) { return b == 0 ? uint8_t(0) : static_cast<uint8_t>(a / b); }
inline STEPC_DEVICE uint8_t mod_of(uint8_t a, uint8_t b) { return b == 0 ? uint8_t(0) : static_cast<uint8_t>(a % b); }

// Exact modulo 2^64; a negative exponent truncates 1 / base^|exponent|.
inline STEPC_DEVICE int64_t integer_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (int64_t e = exponent; e > 0; e /= 2, square *= square)
    if (e % 2 == 1) result *= square;
  return static_cast<int64_t>(result);
}
template <typename T>
inline STEPC_DEVICE T pow_of(T a, T b) {
  return static_cast<T>(integer_pow(a, b));
}

// Float to integer: truncates toward zero and saturates, NaN gives 0. `kLow` and `kHigh` are powers of two or 0.
template <typename To, typename From>
inline STEPC_DEVICE To truncated(From a, From low, From high, To least, To greatest) {
  const bool inside = a > low && a < high;
  const To middle = static_cast<To>(inside ? a : From(0));
  return a >= high ? greatest : (a <= low ? least : middle);
}
template <typename From>
inline STEPC_DEVICE int64_t to_i64(From a) {
  return truncated<int64_t, From>(a, From(-0x1p63), From(0x1p63), INT64_MIN, INT64_MAX);
}
template <typename From>
inline STEPC_DEVICE int32_t to_i32(From a) {
  return truncated<int32_t, double>(static_cast<double>(a), -0x1p31, 0x1p31 - 1, INT32_MIN, INT32_MAX);
}
template <typename From>
inline STEPC_DEVICE int8_t to_i8(From a) {
  return truncated<int8_t, From>(a, From(-128), From(127), INT8_MIN, INT8_MAX);
}
template <typename From>
inline STEPC_DEVICE uint8_t to_u8(From a) {
  return truncated<uint8_t, From>(a, From(0), From(255), 0, UINT8_MAX);
}

template <typename T>
inline STEPC_DEVICE bool is_nan_of(T a) {
  return a != a;
}
inline STEPC_DEVICE bool is_inf_of(float a) { return __builtin_fabsf(a) == __builtin_inff(); }
inline STEPC_DEVICE bool is_inf_of(double a) { return __builtin_fabs(a) == __builtin_inf(); }
template <typename T>
inline STEPC_DEVICE bool is_inf_of(T) {
  return false;
}

}  // namespace stepc_device
