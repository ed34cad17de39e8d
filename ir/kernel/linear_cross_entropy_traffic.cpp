#include "ir/kernel/linear_cross_entropy.h"
#include "ir/support/checked.h"

#include <algorithm>

namespace stepc {
namespace {

constexpr int64_t kLine = 16;  // floats
// Per chunk w is read twice and dw read and written: with fewer rows memory sets the pace (128 rows take a third longer
// than 256 on the machine of docs/linear_cross_entropy.md), more take more scratch. Half of the rows where that lies
// between.
constexpr int64_t kLeastRows = 128, kMostRows = 256;
constexpr int64_t kClassTile = 96;
constexpr int64_t kDepthStep = 256;
// Groups of classes by blocks of the depth: tasks that sum into a dx of their own, so that threads need not meet. As
// many as take a quarter of what a chunk's logits take.
constexpr int64_t kLeastTasks = 8, kMostTasks = 32;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t lines(int64_t x) { return divided(x, kLine) * kLine; }
// Floats of a tile in memory (codegen/cpu/device/tile.h).
int64_t tile_floats(int64_t rows, int64_t columns) { return checked_mul(rows, (divided(columns, kLine) | 1) * kLine); }

}  // namespace

void schedule_linear_cross_entropy(LinearCrossEntropyWork& work) {
  const int64_t rows = std::max<int64_t>(work.rows, 1);
  work.chunks = divided(rows, std::clamp(lines(divided(rows, 2)), kLeastRows, kMostRows));
  work.chunk_rows = lines(divided(rows, work.chunks));
  work.chunks = divided(rows, work.chunk_rows);
  work.depth_step = lines(divided(work.depth, divided(work.depth, kDepthStep)));
  work.class_tile = std::min(kClassTile, lines(work.classes));
  const int64_t tasks = std::clamp(work.classes / (4 * work.depth_step), kLeastTasks, kMostTasks);
  work.group_tiles = divided(work.tiles(), divided(tasks, work.blocks()));

  int64_t end = 0;
  const auto take = [&](int64_t& at, int64_t count, int64_t floats) {
    at = end;
    end = checked_add(end, checked_mul(count, lines(floats)));
  };
  LinearCrossEntropyWork::Scratch& scratch = work.scratch;
  take(scratch.x_rows, work.blocks(), tile_floats(work.chunk_rows, work.depth_step));
  take(scratch.x_columns, work.blocks(), tile_floats(work.depth_step, work.chunk_rows));
  take(scratch.logits, work.tiles(), tile_floats(work.class_tile, work.chunk_rows));
  take(scratch.statistics, work.tiles(), 3 * work.chunk_rows);
  if (work.dx.buffer >= 0)
    take(scratch.partial_dx, checked_mul(work.groups(), work.blocks()), tile_floats(work.chunk_rows, work.depth_step));
  if (work.reduction != LossReduction::none) take(scratch.losses, 1, work.rows);
  scratch.end = end;
}

KernelTraffic linear_cross_entropy_traffic(const LinearCrossEntropyWork& work, const std::vector<KernelBuffer>& buffers,
                                           int64_t reuse_bytes) {
  // Distinct ones: an axis of stride 0 repeats.
  const auto bytes_of = [&](const LinearCrossEntropyWork::Tensor& tensor, int64_t rows, int64_t inner_rows) {
    if (tensor.buffer < 0) return int64_t{0};
    int64_t bytes = dtype_bytes(buffers[static_cast<size_t>(tensor.buffer)].dtype);
    if (tensor.outer_stride != 0) bytes = checked_mul(bytes, rows / inner_rows);
    if (tensor.row_stride != 0) bytes = checked_mul(bytes, inner_rows);
    return tensor.column_stride == 0 ? bytes : checked_mul(bytes, work.depth);
  };
  const auto by_row = [&](const auto& tensor) { return bytes_of(tensor, work.rows, work.inner_rows); };
  const auto by_class = [&](const auto& tensor) { return bytes_of(tensor, work.classes, work.classes); };
  const int64_t w = by_class(work.w), dw = by_class(work.dw);
  KernelTraffic traffic;
  traffic.read_bytes = by_row(work.x) + by_row(work.labels) + by_class(work.bias) + by_row(work.upstream);
  traffic.write_bytes = by_row(work.loss) + by_row(work.dx) + by_class(work.dbias);
  traffic.ideal_bytes = traffic.read_bytes + traffic.write_bytes + w + dw;

  // w once for the logits and once for dx; dw is added to from the second chunk on.
  const int64_t products = 1 + (work.dx.buffer >= 0 ? 1 : 0) + (work.dw.buffer >= 0 ? 1 : 0);
  const int64_t w_reads = checked_mul(work.chunks, work.dx.buffer >= 0 ? 2 : 1);
  const bool stays = w <= reuse_bytes;
  traffic.read_bytes = checked_add(traffic.read_bytes, checked_mul(w, stays ? 1 : w_reads));
  const int64_t sums = stays ? 1 : work.chunks;
  traffic.read_bytes = checked_add(traffic.read_bytes, checked_mul(dw, sums - 1));
  traffic.write_bytes = checked_add(traffic.write_bytes, checked_mul(dw, sums));

  // A chunk's logits leave the cache: written, and with gradients read and rewritten, and read once per block of the
  // depth.
  const int64_t logits = checked_mul(checked_mul(work.chunk_rows, work.classes), 4);
  if (logits > reuse_bytes) {
    const int64_t of_all = checked_mul(logits, work.chunks);
    traffic.write_bytes = checked_add(traffic.write_bytes, checked_mul(of_all, work.has_gradients() ? 2 : 1));
    if (work.has_gradients())
      traffic.read_bytes = checked_add(traffic.read_bytes, checked_mul(of_all, 1 + work.blocks()));
  }
  const int64_t per_product = checked_mul(2 * work.chunk_rows * work.chunks, checked_mul(work.classes, work.depth));
  traffic.flops = checked_mul(products, per_product);
  return traffic;
}

}  // namespace stepc
