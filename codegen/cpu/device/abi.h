#pragma once

#include "codegen/device/index_error.h"

#include <stdint.h>

// What a generated kernel and the runtime agree on. Included by both; the generated side gets it as text.
extern "C" {

// Calls body(argument, begin, end) on disjoint ranges that cover [0, count), none shorter than `grain` if it can be
// helped. Which ranges is up to the caller: no result may depend on it.
typedef void (*StepcParallelBody)(const void* argument, int64_t begin, int64_t end);
typedef void (*StepcParallelFor)(void* pool, int64_t count, int64_t grain, StepcParallelBody body,
                                 const void* argument);

struct StepcKernelArgs {
  void* const* buffers;  // where element offset 0 of each buffer's layout lies
  void* scratch;
  StepcParallelFor parallel_for;
  void* pool;
  StepcIndexError* error;
};

typedef void (*StepcKernel)(const StepcKernelArgs* args);

}  // extern "C"
