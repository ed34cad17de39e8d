#pragma once

#include <stdint.h>

extern "C" {

// The index that a kernel refused: the smallest one that any thread met.
struct StepcIndexError {
  int32_t lock;
  int32_t happened;
  int64_t index;
  int64_t extent;
};

}  // extern "C"
