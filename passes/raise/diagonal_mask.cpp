#include "passes/raise/diagonal_mask.h"

#include "ir/uniform_constant.h"
#include "passes/raise/match.h"
#include "passes/rewrite.h"

#include <cmath>
#include <utility>

namespace stepc {
namespace {

constexpr int kMaxDepth = 64;          // of expressions that masks are computed by
constexpr double kMaxOffset = 0x1p53;  // integers up to here are exact

std::optional<DiagonalMask> mask_at(const Graph& graph, ValueId v, int depth);

// The coordinate on the axis `from_last` axes before the end, and its size there: i of [.., S, 1] is (1, S).
bool is_coordinate(const Graph& graph, ValueId v, size_t from_last, int64_t extent) {
  const Node* iota = made_by(graph, v, Op::iota);
  const Shape& shape = graph.shape(v);
  return iota != nullptr && shape.rank() > from_last && shape.numel() == extent &&
         iota->attrs.integer("axis") == static_cast<int64_t>(shape.rank() - 1 - from_last);
}

// key − query of a mask [.., S, T].
bool is_distance(const Graph& graph, ValueId v) {
  const Node* difference = made_by(graph, v, Op::sub);
  const Shape& shape = graph.shape(v);
  return difference != nullptr && shape.rank() >= 2 &&
         is_coordinate(graph, difference->inputs[0], 0, shape[shape.rank() - 1]) &&
         is_coordinate(graph, difference->inputs[1], 1, shape[shape.rank() - 2]);
}

std::optional<DiagonalMask> compared(const Graph& graph, const Node& less_equal) {
  const std::optional<double> offset = splat_constant(graph, less_equal.inputs[1]);
  if (!offset || !(std::fabs(*offset) < kMaxOffset) || !is_distance(graph, less_equal.inputs[0])) return std::nullopt;
  return DiagonalMask{static_cast<int64_t>(*offset), 1, 0};
}

// Whether a view leaves the last two axes as they are.
bool keeps_matrices(const Graph& graph, const Node& view) {
  const Shape &from = graph.shape(view.inputs[0]), &to = graph.shape(view.outputs[0]);
  if (from.rank() < 2 || to.rank() < 2) return false;
  return from[from.rank() - 1] == to[to.rank() - 1] && from[from.rank() - 2] == to[to.rank() - 2];
}

// A window of the matrices: the diagonal moves.
std::optional<DiagonalMask> sliced(const Graph& graph, const Node& slice, int depth) {
  std::optional<DiagonalMask> mask = mask_at(graph, slice.inputs[0], depth);
  const auto &starts = slice.attrs.integers("starts"), &steps = slice.attrs.integers("steps");
  const size_t rank = starts.size();
  if (!mask || rank < 2 || steps[rank - 1] != 1 || steps[rank - 2] != 1) return std::nullopt;
  mask->offset += starts[rank - 2] - starts[rank - 1];
  return mask;
}

std::optional<DiagonalMask> chosen(const Graph& graph, const Node& select, int depth) {
  std::optional<DiagonalMask> mask = mask_at(graph, select.inputs[0], depth);
  const std::optional<double> yes = splat_constant(graph, select.inputs[1]);
  const std::optional<double> no = splat_constant(graph, select.inputs[2]);
  if (!mask || !yes || !no || graph.shape(select.inputs[0]) != graph.shape(select.outputs[0])) return std::nullopt;
  mask->inside = mask->inside != 0 ? *yes : *no;
  mask->outside = mask->outside != 0 ? *yes : *no;
  return mask;
}

std::optional<DiagonalMask> mask_at(const Graph& graph, ValueId v, int depth) {
  const Node* node = graph.producer(v);
  if (node == nullptr || depth++ > kMaxDepth) return std::nullopt;
  switch (node->op) {
    case Op::less_equal: return compared(graph, *node);
    case Op::reshape:
    case Op::expand: return keeps_matrices(graph, *node) ? mask_at(graph, node->inputs[0], depth) : std::nullopt;
    case Op::slice: return sliced(graph, *node, depth);
    case Op::select: return chosen(graph, *node, depth);
    case Op::cast: {
      std::optional<DiagonalMask> mask = mask_at(graph, node->inputs[0], depth);
      if (!mask) return std::nullopt;
      if (graph.dtype(v) == Dtype::boolean)
        return DiagonalMask{mask->offset, mask->inside != 0 ? 1.0 : 0.0, mask->outside != 0 ? 1.0 : 0.0};
      const bool exact = holds_exactly(graph.dtype(v), mask->inside) && holds_exactly(graph.dtype(v), mask->outside);
      return exact ? mask : std::nullopt;
    }
    case Op::logical_not: {
      std::optional<DiagonalMask> mask = mask_at(graph, node->inputs[0], depth);
      if (mask) std::swap(mask->inside, mask->outside);
      return mask;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<DiagonalMask> diagonal_mask(const Graph& graph, ValueId mask) { return mask_at(graph, mask, 0); }

}  // namespace stepc
