#pragma once

#include "codegen/cpu/device/product.h"

// Contractions without a library: strided operands as they lie, sums in f32.
namespace stepc_device {

// An axis of the batch or of what is summed: extent and strides, in elements; with the place along it of a point.
struct ProductAxis {
  int64_t extent, a, b, c;
};
struct ProductOffsets {
  int64_t a = 0, b = 0, c = 0;
};
template <int kAxes>
inline ProductOffsets offsets_of(const ProductAxis (&axes)[kAxes], int64_t point) {
  ProductOffsets at;
  for (int i = kAxes; i-- > 0;) {
    const int64_t place = point % axes[i].extent;
    point /= axes[i].extent;
    at.a += place * axes[i].a, at.b += place * axes[i].b, at.c += place * axes[i].c;
  }
  return at;
}

// Something that C begins with: strides, 0 where it is broadcast.
template <typename E, int kBatch>
struct ProductAddend {
  const E* data;
  int64_t m, n, batch[kBatch];
};

// kBatch, kSums: axes, at least one (of extent 1); kAddends may be 0.
template <typename A, typename B, typename C, int kBatch, int kSums, int kAddends>
struct Contraction {
  MatrixView<const A> a;
  MatrixView<const B> b;
  MatrixView<C> c;
  ProductAxis batch[kBatch], sums[kSums];
  ProductAddend<C, kBatch> addends[kAddends > 0 ? kAddends : 1];

  template <typename T>
  void start(T& tile, int64_t point, TileRange rows, TileRange columns) const {
    tile.fill(0);
    for (int i = 0; i < kAddends; ++i) {
      const ProductAddend<C, kBatch>& addend = addends[i];
      int64_t offset = rows.begin * addend.m + columns.begin * addend.n, rest = point;
      for (int axis = kBatch; axis-- > 0;) {
        offset += rest % batch[axis].extent * addend.batch[axis];
        rest /= batch[axis].extent;
      }
      const C* const from = addend.data + offset;
      for (int64_t r = 0; r < rows.count; ++r)
        for (int64_t x = 0; x < columns.count; ++x) {
          const float value = widened(from[r * addend.m + x * addend.n]);
          tile.row(r)[x] = i == 0 ? value : tile.row(r)[x] + value;
        }
    }
  }
  template <typename T>
  void load_a(T& tile, int64_t point, int64_t part, TileRange rows, TileRange depths) const {
    load(tile, a, offsets_of(batch, point).a + offsets_of(sums, part).a, rows, depths);
  }
  template <typename T>
  void load_b(T& tile, int64_t point, int64_t part, TileRange depths, TileRange columns) const {
    load(tile, b, offsets_of(batch, point).b + offsets_of(sums, part).b, depths, columns);
  }
  template <typename T>
  void store(const T& tile, int64_t point, TileRange rows, TileRange columns) const {
    C* const to = c.data + offsets_of(batch, point).c + rows.begin * c.row_stride + columns.begin * c.column_stride;
    for (int64_t r = 0; r < rows.count; ++r)
      for (int64_t x = 0; x < columns.count; ++x) narrow(tile.row(r)[x], to[r * c.row_stride + x * c.column_stride]);
  }

 private:
  // The case of a unit stride is a loop of its own, which the compiler makes one of vectors.
  template <typename T, typename E>
  static void load(T& tile, const MatrixView<const E>& from, int64_t offset, TileRange rows, TileRange columns) {
    const E* const data = from.data + offset + rows.begin * from.row_stride + columns.begin * from.column_stride;
    if (from.column_stride == 1)
      fill_tile(tile, rows.count, columns.count,
                [&](int64_t r, int64_t x) { return widened(data[r * from.row_stride + x]); });
    else
      fill_tile(tile, rows.count, columns.count,
                [&](int64_t r, int64_t x) { return widened(data[r * from.row_stride + x * from.column_stride]); });
  }
};

}  // namespace stepc_device
