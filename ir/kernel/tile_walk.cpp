#include "ir/kernel/attention.h"
#include "ir/support/checked.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace stepc {
namespace {

int64_t divided_up(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// The tiles of keys that meet the tile of queries which begins at `query`.
TileWalk walk_of(const AttentionWork& work, int64_t query) {
  const Attention& a = work.attention;
  const int64_t rows = std::min(work.query_tile, a.queries - query);
  const int64_t begin = std::clamp<int64_t>(query + work.least_distance, 0, a.keys);
  const int64_t end = std::clamp<int64_t>(query + rows + work.greatest_distance, begin, a.keys);
  if (begin == end) return {};
  const int64_t first_tile = begin / work.key_tile, end_tile = divided_up(end, work.key_tile);
  const int64_t keys = std::min(end_tile * work.key_tile, a.keys) - first_tile * work.key_tile;
  return {checked_mul(rows, keys), checked_mul(rows, end_tile - first_tile), keys};
}

// Adds `count` terms that begin with `first` and change by the same amount each time.
void add_series(TileWalk& sum, const TileWalk& first, const TileWalk& second, int64_t count) {
  for (int64_t TileWalk::*figure : {&TileWalk::pairs, &TileWalk::query_rows, &TileWalk::key_rows}) {
    sum.*figure = checked_add(sum.*figure, checked_mul(count, first.*figure));
    const int64_t change = second.*figure - first.*figure;
    if (change == 0) continue;  // of more terms than their pairs can be counted
    const int64_t pairs = count % 2 == 0 ? checked_mul(count / 2, count - 1) : checked_mul(count, (count - 1) / 2);
    sum.*figure = checked_add(sum.*figure, checked_mul(pairs, change));
  }
}

// Whole tiles of queries, cut where a limit on the distance crosses an end of the keys, or their last tile.
std::vector<int64_t> cuts(const AttentionWork& work, int64_t tiles) {
  const int64_t keys = work.attention.keys, last_tile = keys / work.key_tile * work.key_tile;
  std::vector<int64_t> result{0, tiles};
  const auto cut = [&](int64_t distance, int64_t key) {  // the first tile with query + distance >= key
    result.push_back(std::clamp<int64_t>(divided_up(key - distance, work.query_tile), 0, tiles));
  };
  for (const int64_t key : {int64_t{0}, keys}) cut(work.least_distance, key);
  for (const int64_t key : {int64_t{1}, last_tile + 1, keys}) cut(work.greatest_distance + work.query_tile, key);
  std::ranges::sort(result);
  return result;
}

}  // namespace

// Between two cuts, what a tile of queries meets grows evenly from period to period, in which both tilings come around.
TileWalk walk_tiles(const AttentionWork& work) {
  const int64_t tiles = work.attention.queries / work.query_tile;
  const int64_t period = std::lcm(work.query_tile, work.key_tile) / work.query_tile;
  TileWalk walk;
  const std::vector<int64_t> ends = cuts(work, tiles);
  for (size_t i = 0; i + 1 < ends.size(); ++i)
    for (int64_t tile = ends[i]; tile < std::min(ends[i] + period, ends[i + 1]); ++tile) {
      const int64_t count = divided_up(ends[i + 1] - tile, period);
      const TileWalk first = walk_of(work, tile * work.query_tile);
      add_series(walk, first, count > 1 ? walk_of(work, (tile + period) * work.query_tile) : first, count);
    }
  if (work.attention.queries % work.query_tile > 0) {
    const TileWalk rest = walk_of(work, tiles * work.query_tile);
    add_series(walk, rest, rest, 1);
  }
  return walk;
}

}  // namespace stepc
