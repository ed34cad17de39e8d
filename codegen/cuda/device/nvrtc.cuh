#pragma once

// What device code shared with the CPU takes from the host's compiler and system headers, for NVRTC, which has neither.
#ifdef __CUDACC_RTC__

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define INT64_C(value) value##LL

#define __builtin_memcpy(to, from, bytes) memcpy(to, from, bytes)
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000LL)
#define __builtin_fmaf(a, b, c) __fmaf_rn(a, b, c)
#define __builtin_fma(a, b, c) __fma_rn(a, b, c)
#define __builtin_fabsf(a) fabsf(a)
#define __builtin_fabs(a) fabs(a)
#define __builtin_copysignf(a, b) copysignf(a, b)
#define __builtin_sqrtf(a) __fsqrt_rn(a)
#define __builtin_sqrt(a) __dsqrt_rn(a)
#define __builtin_floorf(a) floorf(a)
#define __builtin_floor(a) floor(a)
#define __builtin_ceilf(a) ceilf(a)
#define __builtin_ceil(a) ceil(a)
#define __builtin_rintf(a) rintf(a)
#define __builtin_rint(a) rint(a)
#define __builtin_fmodf(a, b) fmodf(a, b)
#define __builtin_fmod(a, b) fmod(a, b)
#define __builtin_exp(a) exp(a)
#define __builtin_log(a) log(a)
#define __builtin_erf(a) erf(a)
#define __builtin_tanh(a) tanh(a)
#define __builtin_sin(a) sin(a)
#define __builtin_cos(a) cos(a)
#define __builtin_pow(a, b) pow(a, b)

#endif

#ifdef __CUDACC__
#pragma nv_diag_suppress 177  // generated code may declare what it does not need
#endif
