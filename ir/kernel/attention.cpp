#include "ir/kernel/attention.h"

#include "ir/cost/device_spec.h"
#include "ir/kernel/describe.h"
#include "ir/kernel/trace.h"
#include "ir/ops/attention_scores.h"
#include "ir/support/checked.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepc {
namespace {

// What a task may have on its stack.
constexpr int64_t kTileBytes = int64_t{1} << 19;
// Fewer tasks than this would leave processors idle: then the backward takes two phases.
constexpr int64_t kEnoughTasks = 8;

// Floats of a tile of `rows` rows in memory: whole lines of 16, an odd number of them (codegen/cpu/device/tile.h).
int64_t tile_floats(int64_t rows, int64_t columns) { return rows * ((columns + 15) / 16 | 1) * 16; }

// All tiles of one task whose tiles of scores are square.
int64_t tile_bytes(const Attention& a, int64_t size, bool backward, bool mask_gradient) {
  const auto padded = [](int64_t depth) { return (depth + 15) / 16 * 16; };
  const int64_t by_depth = tile_floats(size, a.depth), by_value_depth = tile_floats(size, a.value_depth);
  const int64_t by_rows = tile_floats(padded(a.depth), size), scores = tile_floats(size, size);
  int64_t floats = 2 * by_depth + by_rows + 2 * by_value_depth + 3 * scores;  // q, k, one transposed, v, o, s, masks
  // dq, dk, do, dv, vᵀ, ds, slopes
  if (backward) floats += 2 * by_depth + 2 * by_value_depth + tile_floats(padded(a.value_depth), size) + 2 * scores;
  if (mask_gradient) floats += scores;
  return floats * 4;
}

// The largest of these that fits; 0 if none does. Beyond 64, what is loaded again shrinks no more to speak of and more
// of a border tile is computed for nothing.
int64_t tile_size(const Attention& a, bool backward, bool mask_gradient) {
  for (const int64_t size : {64, 32, 16})
    if (tile_bytes(a, size, backward, mask_gradient) <= kTileBytes) return size;
  return 0;
}

// A tile need not exceed what there is, in whole lines.
int64_t clipped_tile(int64_t tile, int64_t extent) { return std::clamp<int64_t>((extent + 15) / 16 * 16, 16, tile); }

Dims mask_strides(const Shape& shape, const Dims& strides) {
  Dims result(4, 0);
  for (size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1) result[4 - shape.rank() + i] = strides[i];
  return result;
}

AttentionMask mask_kind(const Graph& graph, ValueId mask) {
  if (!mask.valid()) return AttentionMask::none;
  const Dtype dtype = graph.dtype(mask);
  if (dtype == Dtype::boolean) return AttentionMask::boolean;
  if (dtype == Dtype::f64) throw Untraceable{"attention with a mask of f64"};
  return AttentionMask::additive;
}

}  // namespace

Kernel describe_attention(const Graph& graph, const Node& node, const LayoutOf& layouts) {
  AttentionWork work;
  const Attention& a = work.attention = bound_attention(graph, node);
  work.backward = node.op == Op::attention_backward;
  work.mask_gradient = work.backward && node.attrs.flag("mask_gradient");
  const Dtype dtype = graph.dtype(node.inputs[0]);
  if (dtype == Dtype::f64) throw Untraceable{"attention in f64"};
  if (a.depth == 0 || a.value_depth == 0) throw Untraceable{"attention of depth 0"};
  const int64_t tile = tile_size(a, work.backward, work.mask_gradient);
  if (tile == 0) throw Untraceable{fmt::format("attention of depths {} and {}: too deep", a.depth, a.value_depth)};
  const ValueId mask = attention_operands(node, work.backward ? kAttentionBackwardMask : kAttentionMask).mask;
  work.mask = mask_kind(graph, mask);

  const int64_t reach = a.queries + a.keys;  // beyond any distance
  work.least_distance = std::clamp(a.least_distance.value_or(-reach), -reach, reach);
  work.greatest_distance = std::clamp(a.greatest_distance.value_or(reach), -reach, reach);
  work.query_tile = clipped_tile(tile, a.queries);
  work.key_tile = clipped_tile(tile, a.keys);
  // Sums that are stored must be f32: only tiles hold them while the results have fewer bits.
  work.two_phases = work.backward && (a.batch * a.key_heads < kEnoughTasks || dtype != Dtype::f32);

  Kernel kernel;
  kernel.kind = KernelKind::attention;
  const auto add = [&](ValueId value, bool written, bool over_scores) {
    const Dims& strides = layouts(value).strides;
    work.strides.push_back(over_scores ? mask_strides(graph.shape(value), strides) : strides);
    kernel.buffers.push_back({value, graph.dtype(value), written});
  };
  const size_t required = work.backward ? kAttentionBackwardMask : kAttentionMask;
  for (size_t i = 0; i < required; ++i) add(node.inputs[i], false, false);
  if (mask.valid()) work.mask_buffer = kernel.buffers.size(), add(mask, false, true);
  if (a.dropout > 0) work.offset_buffer = kernel.buffers.size(), add(node.inputs[required + 1], false, false);
  for (size_t i = 0; i < node.outputs.size(); ++i) add(node.outputs[i], true, i == 3);
  // Σ_d do·o per query, and what its log-sum-exp lost.
  if (work.backward) kernel.scratch_bytes = checked_mul(checked_mul(a.batch * a.heads, a.queries), 8);
  kernel.traffic = attention_traffic(graph, kernel.buffers, work, cpu_device().reuse_bytes);
  kernel.work = std::move(work);
  return kernel;
}

}  // namespace stepc
