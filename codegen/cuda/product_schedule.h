#pragma once

#include "ir/dtype.h"

#include <cstdint>

namespace stepc::cuda {

// How a matrix product runs on a GPU: which device template, on tiles of which shape.
enum class ProductForm : uint8_t {
  plain,  // an element of the result per thread
  thin,   // a result of at most kThinRows rows: the depth is split across the warps of a block
  tiles,  // f32 multiply-adds on tiles in shared memory
  tensor  // 16-bit operands, or f32 ones rounded to TF32, on tensor cores
};

constexpr int64_t kThinRows = 8;

struct ProductSizes {
  int64_t m = 1, n = 1, k = 1;
  int64_t points = 1;  // of the batch
};

struct ProductSchedule {
  ProductForm form{};
  // A block's tile of the result and of the depth. thin: all rows by tile_n columns.
  int32_t tile_m = 1, tile_n = 1, tile_depth = 1;
  int32_t split_m = 1, split_n = 1;  // tiles: elements of a thread; tensor: warps of a block
  int32_t stages = 1;                // of copies in flight
  int32_t threads = 256;
  int64_t blocks = 1;
  int64_t shared_bytes = 0;
};

// A function of sizes and dtypes alone, as an element's bits are: tiles and tensor sum in the order of the depth
// whatever the tile, thin and plain in an order that the depth gives.
ProductSchedule schedule_product(const ProductSizes& sizes, Dtype a, Dtype b, Dtype c, bool tf32 = false);

// The same for an f32 product that only tiles carry.
ProductSchedule schedule_tiles(const ProductSizes& sizes);

}  // namespace stepc::cuda
