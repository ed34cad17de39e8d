#pragma once

#include "codegen/cuda/device/memory.cuh"
#include "codegen/device/index_error.h"
#include "codegen/device/philox.h"
#include "codegen/device/reduction.h"
#include "codegen/device/scalar.h"
#include "codegen/device/top_k.h"

// The frame of every generated kernel.
namespace stepc_device {

// Keeps the smallest offending index, so that the message does not depend on the order of threads. A thread leaves the
// loop in the round in which it had the lock, so those of its warp get their turn.
inline __device__ void report_index(StepcIndexError* error, int64_t index, int64_t extent) {
  for (bool done = false; !done;) {
    if (atomicCAS(&error->lock, 0, 1) != 0) continue;
    if (load(&error->happened, 0) == 0 || index < load(&error->index, 0) ||
        (index == load(&error->index, 0) && extent < load(&error->extent, 0))) {
      store(&error->happened, 0, 1);
      store(&error->index, 0, index);
      store(&error->extent, 0, extent);
    }
    __threadfence();
    atomicExch(&error->lock, 0);
    done = true;
  }
}

// An index in [-extent, extent) wrapped into [0, extent); anything else is reported, and memory is not touched for it.
inline __device__ int64_t checked_index(StepcIndexError* error, int64_t index, int64_t extent) {
  const int64_t wrapped = index < 0 ? index + extent : index;
  if (static_cast<uint64_t>(wrapped) >= static_cast<uint64_t>(extent)) {
    report_index(error, index, extent);
    return 0;
  }
  return wrapped;
}

// Where top_k leaves its results.
struct Places {
  int64_t* first;
  int64_t stride;
  inline __device__ int64_t get(int64_t i) const { return load(first, i * stride); }
  inline __device__ void set(int64_t i, int64_t index) const { store(first, i * stride, index); }
};

}  // namespace stepc_device
