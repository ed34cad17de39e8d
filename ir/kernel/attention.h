#pragma once

#include "ir/kernel.h"

#include <vector>

namespace stepc {

// The pairs of tiles that are not skipped, for one head.
struct TileWalk {
  int64_t pairs = 0;       // of a query and a key in them
  int64_t query_rows = 0;  // queries in them, a tile counted once per pair of tiles
  int64_t key_rows = 0;    // keys likewise
};
TileWalk walk_tiles(const AttentionWork& work);

// `distinct_bytes` of each buffer.
KernelTraffic attention_traffic(const std::vector<KernelBuffer>& buffers, const std::vector<int64_t>& distinct_bytes,
                                const AttentionWork& work);

}  // namespace stepc
