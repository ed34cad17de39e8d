#pragma once

#include "codegen/cpu/device/kernel.h"
#include "codegen/cpu/device/tile.h"

// Products without a library, tile by tile: what contractions and convolutions are made of where there is none.
namespace stepc_device {

struct TileRange {
  int64_t begin, count;
};
inline TileRange range_of(int64_t index, int64_t tile, int64_t extent) {
  return {index * tile, tile < extent - index * tile ? tile : extent - index * tile};
}

// The first rows and columns from at(row, column); the rest of the tile is 0.
template <typename T, typename At>
inline void fill_tile(T& tile, int64_t rows, int64_t columns, const At& at) {
  for (int64_t r = 0; r < T::kRows; ++r) {
    float* const to = tile.row(r);
    const int64_t filled = r < rows ? columns : 0;
    for (int64_t c = 0; c < filled; ++c) to[c] = at(r, c);
    for (int64_t c = filled; c < T::kColumns; ++c) to[c] = 0;
  }
}

// C ← start + Σ A·B for each of `points` matrices C of m rows and n columns, summed over `parts` products of depth k. A
// task is a tile of C, whose elements are one chain of fma each, in the order of parts and depth. Of `product`:
//   start(c, point, rows, columns)             what C's tile begins with
//   load_a(a, point, part, rows, depths), load_b(b, point, part, depths, columns)
//   store(c, point, rows, columns)
template <int64_t kM, int64_t kN, int64_t kK, typename Product>
inline void multiply_tiles(const StepcKernelArgs* args, int64_t points, int64_t m, int64_t n, int64_t parts, int64_t k,
                           const Product& product) {
  const int64_t row_tiles = (m + kM - 1) / kM, column_tiles = (n + kN - 1) / kN;
  parallel_for(args, points * row_tiles * column_tiles, 1, [&](int64_t begin, int64_t end) {
    Tile<kM, kK> a;
    Tile<kK, kN> b;
    Tile<kM, kN> c;
    for (int64_t task = begin; task < end; ++task) {
      const TileRange rows = range_of(task / column_tiles % row_tiles, kM, m);
      const TileRange columns = range_of(task % column_tiles, kN, n);
      const int64_t point = task / column_tiles / row_tiles;
      product.start(c, point, rows, columns);
      for (int64_t part = 0; part < parts; ++part)
        for (int64_t step = 0; step * kK < k; ++step) {
          const TileRange depths = range_of(step, kK, k);
          product.load_a(a, point, part, rows, depths);
          product.load_b(b, point, part, depths, columns);
          multiply<true, kK>(a, b, c);
        }
      product.store(c, point, rows, columns);
    }
  });
}

}  // namespace stepc_device
