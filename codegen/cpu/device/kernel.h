#pragma once

#include "codegen/cpu/device/abi.h"
#include "codegen/cpu/device/reduce.h"
#include "codegen/cpu/device/scalar.h"

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

// Element `index` of a random tensor, uniform in [0, 1): Philox4x32-10 (Salmon et al., SC 2011), as in ir/philox.h.
inline float philox_uniform(int64_t key, int64_t offset, int64_t index) {
  const uint64_t block = static_cast<uint64_t>(index / 4);
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(static_cast<uint64_t>(offset));
  uint32_t c3 = static_cast<uint32_t>(static_cast<uint64_t>(offset) >> 32);
  uint32_t k0 = static_cast<uint32_t>(static_cast<uint64_t>(key));
  uint32_t k1 = static_cast<uint32_t>(static_cast<uint64_t>(key) >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57U} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  const int64_t word = index % 4;
  const uint32_t bits = word == 0 ? c0 : (word == 1 ? c1 : (word == 2 ? c2 : c3));
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}

// The indices of the k first elements in the order of top-k, best first: a NaN is above every number, equal elements
// come by index. at(i) is the element.
template <bool kLargest, typename At>
inline void top_k(const At& at, int64_t extent, int64_t k, int64_t* order, int64_t stride) {
  const auto above = [&](int64_t a, int64_t b) {  // strictly
    const auto x = at(a), y = at(b);
    return x != x ? y == y : x > y;
  };
  const auto before = [&](int64_t a, int64_t b) { return kLargest ? above(a, b) : above(b, a); };
  int64_t filled = 0;
  for (int64_t i = 0; i < extent; ++i) {
    if (filled == k && !before(i, order[(k - 1) * stride])) continue;
    int64_t place = filled < k ? filled++ : k - 1;
    for (; place > 0 && before(i, order[(place - 1) * stride]); --place)
      order[place * stride] = order[(place - 1) * stride];
    order[place * stride] = i;
  }
}

}  // namespace stepc_device

#if defined(__clang__)
#define STEPC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define STEPC_INDEPENDENT _Pragma("GCC ivdep")
#endif
