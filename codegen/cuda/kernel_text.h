#pragma once

#include "codegen/text.h"
#include "ir/kernel.h"

#include <cstdint>
#include <vector>

namespace stepc::cuda {

// One launch of a kernel: the body of its function and the shape that it is written for. The body finds the kernel's
// buffers as `b0`, `b1`, ..., pointers to storage types, `char* scratch` and `StepcIndexError* error`, and its place in
// the grid as `block_index` of `block_count`. Threads and blocks are numbered in x alone. Stages of a kernel run one
// after the other.
struct StageText {
  Text body;
  int64_t grid = 1;
  int32_t threads = 256;
  int64_t shared_bytes = 0;  // dynamic: `stepc_shared`
};

}  // namespace stepc::cuda
