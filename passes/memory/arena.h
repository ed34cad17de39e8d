#pragma once

#include <cstdint>
#include <vector>

namespace stepc {

// What has to lie in an arena: `bytes` alive over the steps first..last, both inclusive.
struct Tenant {
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // per tenant, multiples of kArenaAlignment
  int64_t bytes = 0;             // the arena's size
};

constexpr int64_t kArenaAlignment = 64;  // a cache line, and the widest vector load

constexpr int64_t aligned_bytes(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// Offsets such that tenants alive at the same step do not overlap. Dynamic storage allocation is NP-hard; the smaller
// of two greedy results is returned: largest first into the lowest gap (Pisarchyk and Lee 2020, "Efficient memory
// management for deep neural net inference", greedy by size; quadratic, so only up to 8192 tenants), and in order of
// time into the best-fitting gap (n log n).
ArenaLayout lay_out_arena(const std::vector<Tenant>& tenants);

// The largest sum of (aligned) live bytes at one step: no layout is smaller.
int64_t max_live_bytes(const std::vector<Tenant>& tenants);

}  // namespace stepc
