#pragma once

#include "ir/attention.h"
#include "ir/convolution.h"
#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/plan.h"
#include "ir/scalar_dag.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stepc {

// A kernel is data: what one launch computes, without a word about the backend that prints it.
//
// Most kernels are a LoopNest: a space of loop dimensions, a DAG of typed scalar operations over sources (loads,
// coordinates, ...), reductions over the reduced dimensions, and stores. Pointwise operations, views that must copy,
// pad, concat, every gather, fused bodies, reductions and softmax-like rows are all loop nests. What a nest cannot say
// (scans, sorting, scatters, library calls) has a work description of its own.

// An index value that is not affine in the loop dimensions: stride · (the i64 scalar `index`).
struct DynamicTerm {
  ScalarId index;
  int64_t stride = 0;
  bool operator==(const DynamicTerm&) const = default;
};

// offset + Σ strides[d]·dim[d] + Σ dynamic, in elements (of a buffer) or units (of a coordinate).
struct IndexForm {
  int64_t offset = 0;
  Dims strides;  // one per loop dimension
  std::vector<DynamicTerm> dynamic;
  bool operator==(const IndexForm&) const = default;
};

// low <= at < high, and (at - low) divisible by `step`.
struct Guard {
  IndexForm at;
  int64_t low = 0;
  int64_t high = 0;
  int64_t step = 1;
  bool operator==(const Guard&) const = default;
};

// An element of a buffer; 0 where a guard fails, and then memory is not touched.
struct LoadSource {
  int32_t buffer = 0;
  IndexForm at;
  std::vector<Guard> guards;
  bool operator==(const LoadSource&) const = default;
};

// A coordinate as i64.
struct CoordinateSource {
  IndexForm at;
  bool operator==(const CoordinateSource&) const = default;
};

// `raw` in [-extent, extent) wrapped into [0, extent); anything else is reported, and 0 goes on.
struct IndexSource {
  ScalarId raw;  // i64
  int64_t extent = 0;
  bool wraps = true;
  std::vector<Guard> guards;  // where one fails, the index is 0 and nothing is reported
  bool operator==(const IndexSource&) const = default;
};

// Whether all guards hold, as bool.
struct InsideSource {
  std::vector<Guard> guards;
  bool operator==(const InsideSource&) const = default;
};

// The result of LoopNest::reductions[reduction].
struct ReducedSource {
  int32_t reduction = 0;
  bool operator==(const ReducedSource&) const = default;
};

// The result of LoopNest::columns[column].
struct ColumnSource {
  int32_t column = 0;
  bool operator==(const ColumnSource&) const = default;
};

// Uniform in [0, 1), f32: element `at` of the random tensor with this key and offset (ir/philox.h).
struct RandomSource {
  int64_t key = 0;
  ScalarId offset;  // i64
  IndexForm at;
  bool operator==(const RandomSource&) const = default;
};

using Source =
    std::variant<LoadSource, CoordinateSource, IndexSource, InsideSource, ReducedSource, ColumnSource, RandomSource>;

enum class ReduceOp : uint8_t { sum, prod, max, min, arg_max, arg_min };

// Over all reduced dimensions, in the canonical order (see Reduction order below). Arg reductions yield the linear
// index over the reduced dimensions, the first one among equals unless `last`; NaN counts as the extreme.
struct Reduction {
  ReduceOp op{};
  ScalarId value;
  Dtype accumulate{};
  bool last = false;
  bool operator==(const Reduction&) const = default;
};

struct Store {
  int32_t buffer = 0;
  IndexForm at;  // affine
  ScalarId value;
};

struct LoopDim {
  int64_t extent = 1;
  bool reduced = false;
  bool operator==(const LoopDim&) const = default;
};

// For every point of the dims that are not reduced: evaluates the DAG, the reductions over the reduced dims first.
// Reduction results may feed values that vary along the reduced dims again (softmax): a store whose index or value does
// is done for every point of the whole space.
//
// With `columns`, rows are also combined with each other: over the dims that are kept, one result per point of the
// reduced ones, which only stores after the last row use (a norm's dx along rows, dw across them).
struct LoopNest {
  std::vector<LoopDim> dims;  // outermost first, in row-major order of the iteration shape
  std::vector<Source> sources;
  ScalarDag dag;  // ScalarOp::operand i is sources[i]
  std::vector<Reduction> reductions;
  std::vector<Reduction> columns;  // none is an arg reduction
  std::vector<Store> stores;

  int64_t kept_count() const;     // product of the extents of dims that are not reduced
  int64_t reduced_count() const;  // of those that are; 1 without any
  // Whether the innermost dim longer than 1 is reduced; decides the canonical order.
  bool is_row() const;
};

// Reduction order: the canonical order in which elements are combined, a function of the operation and the iteration
// shape alone. Elements are numbered r = 0, 1, ... in row-major order of the reduced axes and cut into segments.
//   rows (the last axis longer than 1 is reduced): segments of 4096; in each, 16 lanes, lane r % 16, combined by a
//     balanced tree (lane i with lane i + 8, then + 4, + 2, + 1); partial results of segments from left to right.
//   columns (it is kept, or LoopNest::columns): segments of 64, sequential in each; partial results of segments
//     from left to right.
// Threads share segments, never what is in one: their number changes no bit.
constexpr int64_t kRowSegment = 4096;
constexpr int64_t kRowLanes = 16;
constexpr int64_t kColumnSegment = 64;

// out[k] = Σ in[j] over j <= k along one axis, in order, for every point of `dims`; exclusive: j < k; reverse: from the
// end. Buffers: in, out.
struct ScanWork {
  int64_t extent = 0, in_stride = 0, out_stride = 0;  // of the scanned axis
  Dims dims, in_strides, out_strides;                 // the other axes
  bool exclusive = false, reverse = false;
};

// The k greatest (least) elements along one axis, best first, equal ones by lower index, NaN above every number.
// Buffers: in, values, indices.
struct TopKWork {
  int64_t extent = 0, in_stride = 0, out_stride = 0, k = 0;
  Dims dims, in_strides, out_strides;
  bool largest = true;
};

enum class ScatterMode : uint8_t { assign, add, mul, max, min };

// The result, row-major, starts as `base` and then receives one update per point of `dims`. Updates that differ in a
// sequential (`reduced`) dim may meet, and are applied in its order; the others are independent. An update goes to
// Σ p[d]·out_strides[d] + Σ_c index(p, c)·targets[c].stride.
// Buffers: indices, updates, result, base unless it is one number.
struct ScatterWork {
  struct Target {
    int64_t extent = 0, stride = 0;
    bool operator==(const Target&) const = default;
  };
  ScatterMode mode{};
  Shape result;
  std::optional<double> base_number;
  Dims base_strides;
  std::vector<LoopDim> dims;
  Dims index_strides, update_strides, out_strides;
  std::vector<Target> targets;
  int64_t component_stride = 0;  // from one component of an index tuple to the next
};

// C = A·B + Σ addends for every point of `batch`, summed over `sums`; strides in elements. One of each matrix's two
// strides is 1 (or its extent is). Executed by the library. Buffers: A, B, the addends, C. An addend may lie where C
// does, element by element. All are f32, or without addends all bf16 or f16, with sums in f32.
struct MatmulWork {
  struct Batch {
    int64_t extent = 1, a = 0, b = 0, c = 0;
    bool operator==(const Batch&) const = default;
  };
  struct Addend {
    int64_t m = 0, n = 0;  // strides; 0 where it is broadcast
    Dims batch;            // one per axis of MatmulWork::batch
    bool operator==(const Addend&) const = default;
  };
  int64_t m = 1, n = 1, k = 1;
  int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0, c_n = 0;
  std::vector<Batch> batch;
  std::vector<Batch> sums;  // c is 0
  std::vector<Addend> addends;
  bool tf32 = false;  // f32 operands may be rounded to TF32
  bool operator==(const MatmulWork&) const = default;
};

enum class ConvolutionKind : uint8_t { forward, backward_input, backward_weight };

// A convolution of row-major f32 operands by the library. Buffers: the node's operands, the result.
struct ConvolutionWork {
  ConvolutionKind kind{};
  Shape input, weight, output;  // [N, C, in..], [M, C/groups, k..], [N, M, out..]
  Convolution convolution;
  bool has_bias = false;
};

enum class AttentionMask : uint8_t { none, boolean, additive };

// attention, or with `backward` attention_backward (ir/attention.h), by tiles of queries and keys: a tile of scores is
// made, used and dropped. Tiles without a pair within the limits are skipped. Buffers: the node's operands, its
// results.
struct AttentionWork {
  Attention attention;
  bool backward = false;
  AttentionMask mask{};
  size_t mask_buffer = 0, offset_buffer = 0;  // where there is a mask; where there is dropout
  bool mask_gradient = false;                 // backward: the last result
  std::vector<Dims> strides;  // per buffer over its axes; of a mask over [B, H, S, T], 0 where it is broadcast
  // Of key j from a query i that attends to it: least <= j − i <= greatest, both within ±(S + T).
  int64_t least_distance = 0, greatest_distance = 0;
  int64_t query_tile = 0, key_tile = 0;
  // Backward. One phase: a task per batch and key head. Two: a task per tile of keys for dk and dv, then one per tile
  // of queries for dq, which forms the scores twice.
  bool two_phases = false;
};

enum class LossReduction : uint8_t { none, sum, mean };

// linear_cross_entropy, the gradients of it, or both at once (a fused node that holds the two). Rows come in chunks,
// each chunk's logits lie in scratch, and products run over tiles of classes and blocks of the depth. With the
// gradients that takes three products, one without. x and dx may be 16-bit. Buffers: what the node reads, its results.
struct LinearCrossEntropyWork {
  // An operand or result that may be absent (-1). Row r lies at (r / inner_rows)·outer_stride + (r % inner_rows)·
  // row_stride; of w, dw, bias and dbias a row is a class.
  struct Tensor {
    int32_t buffer = -1;
    int64_t outer_stride = 0, row_stride = 0, column_stride = 0;
  };

  int64_t rows = 0, inner_rows = 1, classes = 0, depth = 0;
  int64_t ignore_index = 0;
  double smoothing = 0, z_loss = 0;
  LossReduction reduction{};
  Tensor x, w, labels, bias, upstream, loss, dx, dw, dbias;
  double upstream_value = 1;  // where upstream is absent
  // The schedule: a function of the sizes alone.
  int64_t chunk_rows = 0, chunks = 0, class_tile = 0, group_tiles = 0, depth_step = 0;
  // Where the parts of scratch lie, in floats.
  struct Scratch {
    int64_t x_rows = 0, x_columns = 0, logits = 0, statistics = 0, partial_dx = 0, losses = 0, end = 0;
  } scratch;

  bool has_gradients() const { return dx.buffer >= 0 || dw.buffer >= 0 || dbias.buffer >= 0; }
  int64_t tiles() const { return (classes + class_tile - 1) / class_tile; }
  int64_t groups() const { return (tiles() + group_tiles - 1) / group_tiles; }
  int64_t blocks() const { return (depth + depth_step - 1) / depth_step; }
};

struct Kernel;
// Kernels of one kind, independent of each other, as one launch: each is one task, run as it would be alone, without
// scratch. Buffers: those of the parts, one after the other.
struct PartsWork {
  std::vector<Kernel> parts;
};

using KernelWork = std::variant<LoopNest, ScanWork, TopKWork, ScatterWork, MatmulWork, ConvolutionWork, AttentionWork,
                                LinearCrossEntropyWork, PartsWork>;

enum class KernelKind : uint8_t {
  map,
  row_reduction,
  column_reduction,
  inner_outer,  // a nest with `columns`
  scan,
  top_k,
  scatter,
  contraction,
  convolution,
  attention,
  linear_cross_entropy
};
std::string_view kernel_kind_name(KernelKind kind);

struct KernelBuffer {
  ValueId value;
  Dtype dtype{};
  bool written = false;
};

// Main-memory bytes after the reuse that the schedule guarantees, and the bytes that are unavoidable.
struct KernelTraffic {
  int64_t read_bytes = 0;
  int64_t write_bytes = 0;
  int64_t ideal_bytes = 0;  // every distinct byte once
  int64_t flops = 0;
};

// How a loop nest is run. A function of the nest alone.
struct KernelSchedule {
  // Reductions: cut what is combined across threads, partial results in scratch, then a second loop. Always with
  // `columns`, whose tasks are segments of rows.
  bool two_stage = false;
  int64_t column_tile = 0;  // columns per task of a column reduction
  // Maps that read along another dim than they write: square tiles over (tile_dim, innermost). -1: none.
  int32_t tile_dim = -1;
  int64_t tile = 0;
};

struct Kernel {
  KernelKind kind{};
  std::string label;  // operation names, "mul_add": never a name from a model
  std::vector<KernelBuffer> buffers;
  KernelWork work;
  KernelSchedule schedule;
  KernelTraffic traffic;
  int64_t scratch_bytes = 0;  // library scratch is not in it
  bool is_library() const { return kind == KernelKind::contraction || kind == KernelKind::convolution; }
};

// A reduction in two stages and an attention backward in two phases count two.
int64_t launches_of(const Kernel& kernel);

using LayoutOf = std::function<const Layout&(ValueId)>;
LayoutOf layouts_of(const Plan& plan);
LayoutOf layouts_of(const Layouts& layouts);

// The kernel of a node that is not an aliasing view and not a constant. Softmax, log-softmax, norms, rotary embedding,
// attention in f32 and 16 bits, linear cross-entropy in f32 are single kernels; other composites must have come apart.
Kernel describe_kernel(const Graph& graph, NodeId node, const LayoutOf& layouts);

// Why no kernel carries a node, or nullopt if one does: what `describe_kernel` may be asked for.
std::optional<std::string> why_no_kernel(const Graph& graph, NodeId node, const LayoutOf& layouts);

// Some nodes of a graph that one kernel might carry: what they read from outside are its operands.
struct Region {
  std::vector<NodeId> nodes;  // sorted
  std::vector<ValueId> results;
};

// The loop nest that computes a region's results, each operand read once, without a label; or why there is none.
std::variant<Kernel, std::string> describe_region(const Graph& graph, const Region& region, const LayoutOf& layouts);

}  // namespace stepc
