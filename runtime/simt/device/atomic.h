#pragma once

#include "runtime/simt/device/cuda.h"

// Atomics, in shared and in global memory: atomic between OS threads too. Overloads are those of CUDA, and
// unsigned long for the host's uint64_t.
namespace stepc_simt {

// Replaces *address by change(*address) and gives what was there.
template <typename T, typename Change>
T update(T* address, int line, Change change) {
  if (!self()->engine->atomic(self(), address, access_of<T>(kStepcAtomic, line))) return poison<T>();
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  T wanted = change(old);
  while (!__atomic_compare_exchange(address, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    wanted = change(old);
  return old;
}

template <typename T>
T compare_and_swap(T* address, T expected, T value, int line) {
  if (!self()->engine->atomic(self(), address, access_of<T>(kStepcAtomic, line))) return poison<T>();
  __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

}  // namespace stepc_simt

#define STEPC_SIMT_ATOMIC(NAME, T, CHANGED)                                                         \
  inline T NAME(T* address, T value, int line = __builtin_LINE()) {                                 \
    return stepc_simt::update(address, line, [&]([[maybe_unused]] T old) -> T { return CHANGED; }); \
  }
#define STEPC_SIMT_ATOMICS(NAME, CHANGED)         \
  STEPC_SIMT_ATOMIC(NAME, int, CHANGED)           \
  STEPC_SIMT_ATOMIC(NAME, unsigned int, CHANGED)  \
  STEPC_SIMT_ATOMIC(NAME, unsigned long, CHANGED) \
  STEPC_SIMT_ATOMIC(NAME, unsigned long long, CHANGED)

STEPC_SIMT_ATOMICS(atomicAdd, old + value)
STEPC_SIMT_ATOMIC(atomicAdd, float, old + value)
STEPC_SIMT_ATOMIC(atomicAdd, double, old + value)
STEPC_SIMT_ATOMICS(atomicMin, value < old ? value : old)
STEPC_SIMT_ATOMIC(atomicMin, long long, value < old ? value : old)
STEPC_SIMT_ATOMICS(atomicMax, value > old ? value : old)
STEPC_SIMT_ATOMIC(atomicMax, long long, value > old ? value : old)
STEPC_SIMT_ATOMICS(atomicExch, value)
STEPC_SIMT_ATOMIC(atomicExch, float, value)
STEPC_SIMT_ATOMICS(atomicOr, old | value)
STEPC_SIMT_ATOMICS(atomicAnd, old& value)
#undef STEPC_SIMT_ATOMICS
#undef STEPC_SIMT_ATOMIC

#define STEPC_SIMT_CAS(T)                                                            \
  inline T atomicCAS(T* address, T expected, T value, int line = __builtin_LINE()) { \
    return stepc_simt::compare_and_swap(address, expected, value, line);             \
  }
STEPC_SIMT_CAS(int)
STEPC_SIMT_CAS(unsigned int)
STEPC_SIMT_CAS(unsigned long)
STEPC_SIMT_CAS(unsigned long long)
STEPC_SIMT_CAS(unsigned short)
#undef STEPC_SIMT_CAS
