#pragma once

#include "ir/plan.h"

#include <cstdint>
#include <vector>

namespace stepc {

// Bytes by class, as the design's letters: W, G, O, A, T. Block sizes are rounded up to the arena's alignment.
struct MemoryUse {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t temporaries = 0;  // kernel scratch included
  int64_t total() const { return weights + gradients + optimizer + activations + temporaries; }
};

// What is alive at each step of the plan, persistent blocks included.
std::vector<MemoryUse> memory_timeline(const Plan& plan);

// The composition of the peak: use.total() + fragmentation_bytes == plan.peak_bytes().
struct PeakUse {
  int32_t step = 0;  // the first step at which most is alive
  MemoryUse use;
  int64_t fragmentation_bytes = 0;
};
PeakUse peak_use(const Plan& plan);

}  // namespace stepc
