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

// Where a task finds `reuse_bytes` again in its cache.
KernelTraffic attention_traffic(const Graph& graph, const std::vector<KernelBuffer>& buffers, const AttentionWork& work,
                                int64_t reuse_bytes);

}  // namespace stepc
