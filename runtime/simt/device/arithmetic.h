#pragma once

#include "runtime/simt/device/cuda.h"

// CUDA's arithmetic where IEEE 754 says what the result is, so that both targets give the same bits. Functions whose
// bits are the vendor's (expf, __expf, ...) are missing on purpose: text that calls them does not compile here.
// rsqrtf is the exception: CUDA's may differ from the quotient in the last place.
#define STEPC_SIMT_UNARY(NAME, T, RESULT) \
  __forceinline__ T NAME(T a) { return RESULT; }
#define STEPC_SIMT_BINARY(NAME, T, RESULT) \
  __forceinline__ T NAME(T a, T b) { return RESULT; }

#define STEPC_SIMT_FLOAT(T, SUFFIX)                                        \
  STEPC_SIMT_UNARY(sqrt##SUFFIX, T, __builtin_sqrt##SUFFIX(a))             \
  STEPC_SIMT_UNARY(rsqrt##SUFFIX, T, 1 / __builtin_sqrt##SUFFIX(a))        \
  STEPC_SIMT_UNARY(fabs##SUFFIX, T, __builtin_fabs##SUFFIX(a))             \
  STEPC_SIMT_UNARY(floor##SUFFIX, T, __builtin_floor##SUFFIX(a))           \
  STEPC_SIMT_UNARY(ceil##SUFFIX, T, __builtin_ceil##SUFFIX(a))             \
  STEPC_SIMT_UNARY(trunc##SUFFIX, T, __builtin_trunc##SUFFIX(a))           \
  STEPC_SIMT_UNARY(rint##SUFFIX, T, __builtin_rint##SUFFIX(a))             \
  STEPC_SIMT_UNARY(nearbyint##SUFFIX, T, __builtin_rint##SUFFIX(a))        \
  STEPC_SIMT_UNARY(round##SUFFIX, T, __builtin_round##SUFFIX(a))           \
  STEPC_SIMT_BINARY(fmin##SUFFIX, T, __builtin_fmin##SUFFIX(a, b))         \
  STEPC_SIMT_BINARY(fmax##SUFFIX, T, __builtin_fmax##SUFFIX(a, b))         \
  STEPC_SIMT_BINARY(fmod##SUFFIX, T, __builtin_fmod##SUFFIX(a, b))         \
  STEPC_SIMT_BINARY(copysign##SUFFIX, T, __builtin_copysign##SUFFIX(a, b)) \
  __forceinline__ T fma##SUFFIX(T a, T b, T c) { return __builtin_fma##SUFFIX(a, b, c); }
STEPC_SIMT_FLOAT(float, f)
STEPC_SIMT_FLOAT(double, )
#undef STEPC_SIMT_FLOAT

STEPC_SIMT_UNARY(__fsqrt_rn, float, __builtin_sqrtf(a))
STEPC_SIMT_UNARY(__frcp_rn, float, 1 / a)
STEPC_SIMT_BINARY(__fadd_rn, float, a + b)
STEPC_SIMT_BINARY(__fsub_rn, float, a - b)
STEPC_SIMT_BINARY(__fmul_rn, float, a* b)
STEPC_SIMT_BINARY(__fdiv_rn, float, a / b)
STEPC_SIMT_UNARY(__dsqrt_rn, double, __builtin_sqrt(a))
STEPC_SIMT_BINARY(__dadd_rn, double, a + b)
STEPC_SIMT_BINARY(__dmul_rn, double, a* b)
STEPC_SIMT_BINARY(__ddiv_rn, double, a / b)
__forceinline__ float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

#define STEPC_SIMT_INTEGER(T)              \
  STEPC_SIMT_BINARY(min, T, b < a ? b : a) \
  STEPC_SIMT_BINARY(max, T, a < b ? b : a)
STEPC_SIMT_INTEGER(int)
STEPC_SIMT_INTEGER(unsigned)
STEPC_SIMT_INTEGER(long)
STEPC_SIMT_INTEGER(unsigned long)
STEPC_SIMT_INTEGER(long long)
STEPC_SIMT_INTEGER(unsigned long long)
#undef STEPC_SIMT_INTEGER
STEPC_SIMT_UNARY(abs, int, a < 0 ? -a : a)
STEPC_SIMT_UNARY(llabs, long long, a < 0 ? -a : a)
#undef STEPC_SIMT_UNARY
#undef STEPC_SIMT_BINARY

#define STEPC_SIMT_BITS(NAME, TO, FROM)            \
  __forceinline__ TO NAME(FROM value) {            \
    TO result;                                     \
    __builtin_memcpy(&result, &value, sizeof(TO)); \
    return result;                                 \
  }
STEPC_SIMT_BITS(__float_as_int, int, float)
STEPC_SIMT_BITS(__float_as_uint, unsigned, float)
STEPC_SIMT_BITS(__int_as_float, float, int)
STEPC_SIMT_BITS(__uint_as_float, float, unsigned)
STEPC_SIMT_BITS(__double_as_longlong, long long, double)
STEPC_SIMT_BITS(__longlong_as_double, double, long long)
#undef STEPC_SIMT_BITS

__forceinline__ int __popc(unsigned value) { return __builtin_popcount(value); }
__forceinline__ int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
__forceinline__ int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }
__forceinline__ int __clzll(long long value) {
  return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value));
}
__forceinline__ int __ffs(int value) { return __builtin_ffs(value); }
__forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
__forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
