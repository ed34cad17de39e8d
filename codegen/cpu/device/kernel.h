#pragma once

#include "codegen/cpu/device/abi.h"
#include "codegen/cpu/device/reduce.h"
#include "codegen/device/philox.h"
#include "codegen/device/scalar.h"
#include "codegen/device/top_k.h"

// The frame of every generated kernel.
namespace stepc_device {

template <typename T>
inline T* buffer(const StepcKernelArgs* args, int index) {
  return static_cast<T*>(args->buffers[index]);
}

template <typename Body>
inline void parallel_for(const StepcKernelArgs* args, int64_t count, int64_t grain, const Body& body) {
  args->parallel_for(
      args->pool, count, grain,
      [](const void* argument, int64_t begin, int64_t end) { (*static_cast<const Body*>(argument))(begin, end); },
      &body);
}

// Keeps the smallest offending index, so that the message does not depend on threads.
inline __attribute__((noinline, cold)) void report_index(StepcIndexError* error, int64_t index, int64_t extent) {
  while (__atomic_exchange_n(&error->lock, 1, __ATOMIC_ACQUIRE) != 0) {
  }
  if (error->happened == 0 || index < error->index || (index == error->index && extent < error->extent)) {
    error->happened = 1;
    error->index = index;
    error->extent = extent;
  }
  __atomic_store_n(&error->lock, 0, __ATOMIC_RELEASE);
}

// An index in [-extent, extent) wrapped into [0, extent); anything else is reported, and memory is not touched for it.
inline int64_t checked_index(const StepcKernelArgs* args, int64_t index, int64_t extent) {
  const int64_t wrapped = index < 0 ? index + extent : index;
  if (__builtin_expect(static_cast<uint64_t>(wrapped) >= static_cast<uint64_t>(extent), 0)) {
    report_index(args->error, index, extent);
    return 0;
  }
  return wrapped;
}

// Where top_k leaves its results.
struct Places {
  int64_t* first;
  int64_t stride;
  int64_t get(int64_t i) const { return first[i * stride]; }
  void set(int64_t i, int64_t index) const { first[i * stride] = index; }
};

}  // namespace stepc_device

#if defined(__clang__)
#define STEPC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define STEPC_INDEPENDENT _Pragma("GCC ivdep")
#endif
