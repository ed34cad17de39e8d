#include "codegen/cuda/product_schedule.h"

#include <span>

namespace stepc::cuda {
namespace {

struct Tile {
  int32_t m, n, depth, split_m, split_n, stages;
  int32_t efficiency;  // percent of the largest tile's rate, when the GPU is full
};

// Larger tiles read less per product, smaller ones fill a GPU with more blocks. Among equals the first is taken.
constexpr Tile kTiles[] = {{128, 128, 16, 8, 8, 2, 100}, {128, 64, 16, 8, 4, 2, 85}, {64, 128, 16, 4, 8, 2, 85},
                           {64, 64, 16, 4, 4, 2, 70},    {128, 32, 16, 8, 4, 2, 60}, {32, 128, 16, 4, 8, 2, 60},
                           {32, 32, 32, 4, 4, 2, 40}};
// Their depth is that of 16-bit operands; f32 ones have half of it, the same bytes.
constexpr Tile kTensorTiles[] = {{128, 128, 32, 2, 4, 3, 100},
                                 {128, 64, 32, 4, 2, 3, 80},
                                 {64, 128, 32, 2, 4, 3, 80},
                                 {64, 64, 32, 2, 2, 4, 60},
                                 {32, 32, 32, 2, 1, 4, 30}};

// Multiprocessors of a large GPU of these years (A100 108, H100 132): a schedule does not depend on the device.
constexpr int64_t kMultiprocessors = 128;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t blocks_of(const ProductSizes& sizes, const Tile& tile) {
  return ceil_div(sizes.m, tile.m) * ceil_div(sizes.n, tile.n) * sizes.points;
}

// Time of rounds in which every multiprocessor computes one tile.
int64_t cost_of(const ProductSizes& sizes, const Tile& tile) {
  return ceil_div(blocks_of(sizes, tile), kMultiprocessors) * tile.m * tile.n * 100 / tile.efficiency;
}

const Tile& cheapest(const ProductSizes& sizes, std::span<const Tile> tiles) {
  const Tile* best = &tiles[0];
  for (const Tile& tile : tiles)
    if (cost_of(sizes, tile) < cost_of(sizes, *best)) best = &tile;
  return *best;
}

ProductSchedule on(const Tile& tile, const ProductSizes& sizes) {
  ProductSchedule schedule;
  schedule.tile_m = tile.m, schedule.tile_n = tile.n, schedule.tile_depth = tile.depth;
  schedule.split_m = tile.split_m, schedule.split_n = tile.split_n;
  schedule.stages = tile.stages;
  schedule.blocks = blocks_of(sizes, tile);
  return schedule;
}

ProductSchedule schedule_tensor(const ProductSizes& sizes, int64_t bytes) {
  ProductSchedule schedule = on(cheapest(sizes, kTensorTiles), sizes);
  schedule.form = ProductForm::tensor;
  schedule.threads = 32 * schedule.split_m * schedule.split_n;
  schedule.tile_depth = static_cast<int32_t>(schedule.tile_depth * 2 / bytes);
  schedule.shared_bytes = bytes * schedule.stages * schedule.tile_depth * (schedule.tile_m + schedule.tile_n);
  return schedule;
}

bool is_half(Dtype dtype) { return dtype == Dtype::bf16 || dtype == Dtype::f16; }

}  // namespace

ProductSchedule schedule_tiles(const ProductSizes& sizes) {
  constexpr int64_t kPads = 2 * 4;  // floats of a depth of A and B, product_tiles.cuh
  ProductSchedule schedule = on(cheapest(sizes, kTiles), sizes);
  schedule.form = ProductForm::tiles;
  schedule.threads = schedule.tile_m / schedule.split_m * (schedule.tile_n / schedule.split_n);
  schedule.shared_bytes =
      int64_t{4} * schedule.stages * schedule.tile_depth * (schedule.tile_m + schedule.tile_n + kPads);
  return schedule;
}

ProductSchedule schedule_product(const ProductSizes& sizes, Dtype a, Dtype b, Dtype c, bool tf32) {
  constexpr int64_t kShallow = 4;  // a tile of depth 16 would be mostly padding; writing the result is what costs
  constexpr int32_t kThinColumns = 32;
  if (sizes.m <= kThinRows && sizes.k > kShallow)
    return {.form = ProductForm::thin,
            .tile_m = static_cast<int32_t>(sizes.m),
            .tile_n = kThinColumns,
            .blocks = ceil_div(sizes.n, kThinColumns) * sizes.points};
  if (sizes.k > kShallow && a == Dtype::f32 && b == Dtype::f32 && c == Dtype::f32)
    return tf32 ? schedule_tensor(sizes, 4) : schedule_tiles(sizes);
  if (sizes.k > kShallow && is_half(a) && a == b && (c == a || c == Dtype::f32)) return schedule_tensor(sizes, 2);
  constexpr int32_t kThreads = 256;
  return {
      .form = ProductForm::plain, .threads = kThreads, .blocks = ceil_div(sizes.m * sizes.n * sizes.points, kThreads)};
}

}  // namespace stepc::cuda
