#pragma once

#include "runtime/simt/device/abi.h"

#include <stdint.h>
#include <string.h>

// CUDA's language on top of the host's C++. A block stays on one OS thread, so what its threads share is thread_local.
// What is hidden is never shared with another compiled text.
#pragma GCC visibility push(hidden)

#define STEPC_SIMT 1
#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __grid_constant__

// The one dynamic arena, as large as any architecture allows; the engine gives a launch the bytes that it asked for.
// Extern "C", so that a kernel, which is, may declare it in its body.
extern "C" {
extern thread_local unsigned char stepc_shared[];
thread_local __attribute__((aligned(1024))) unsigned char stepc_shared[232448];
}

thread_local StepcSimtThread* stepc_simt_thread;

namespace stepc_simt {

struct Index {
  unsigned x, y, z;
};

__forceinline__ StepcSimtThread* self() { return stepc_simt_thread; }

template <typename T>
__forceinline__ T poison() {
  T value;
  __builtin_memset(&value, 0xff, sizeof(T));
  return value;
}

template <typename T>
__forceinline__ StepcSimtAccess access_of(StepcSimtAccessKind kind, int line) {
  return {kind, sizeof(T), alignof(T), line};
}

template <typename T>
__forceinline__ T load_global(const void* base, const void* address, int line) {
  if (!self()->engine->global(self(), base, address, access_of<T>(kStepcLoad, line))) return poison<T>();
  T value;
  __builtin_memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T>
__forceinline__ void store_global(void* base, void* address, const T& value, int line) {
  if (self()->engine->global(self(), base, address, access_of<T>(kStepcStore, line)))
    __builtin_memcpy(address, &value, sizeof(T));
}

template <typename T>
__forceinline__ T load_shared(const void* base, const void* address, int line) {
  if (!self()->engine->shared(self(), base, address, access_of<T>(kStepcLoad, line))) return poison<T>();
  T value;
  __builtin_memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T>
__forceinline__ void store_shared(void* base, void* address, const T& value, int line) {
  if (self()->engine->shared(self(), base, address, access_of<T>(kStepcStore, line)))
    __builtin_memcpy(address, &value, sizeof(T));
}

__forceinline__ void copy_async(void* shared, const void* global, unsigned bytes, int line) {
  self()->engine->copy_async(self(), shared, global, bytes, line);
}
__forceinline__ void commit_async() { self()->engine->commit_async(self()); }
__forceinline__ void wait_async(int newest) { self()->engine->wait_async(self(), newest); }

}  // namespace stepc_simt

#define threadIdx (stepc_simt::Index{stepc_simt::self()->thread_index, 0, 0})
#define blockIdx (stepc_simt::Index{stepc_simt::self()->block_index, 0, 0})
#define blockDim (stepc_simt::Index{stepc_simt::self()->threads, 1, 1})
#define gridDim (stepc_simt::Index{stepc_simt::self()->blocks, 1, 1})
#define warpSize 32

__forceinline__ void __syncthreads(int line = __builtin_LINE()) {
  stepc_simt::self()->engine->barrier(stepc_simt::self(), line);
}
// Within a thread the compiler keeps the order that is written, and a block's threads see each other's stores at once.
__forceinline__ void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__forceinline__ void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
