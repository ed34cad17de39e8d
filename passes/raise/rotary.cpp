#include "ir/builder.h"
#include "ir/op_def.h"
#include "passes/raise/match.h"
#include "passes/raise/rules.h"
#include "passes/rewrite.h"

#include <algorithm>

namespace stepc {
namespace {

bool constant_halves_equal(const Tensor& tensor) {
  const Shape& shape = tensor.type().shape;
  const int64_t size = shape[shape.rank() - 1];
  for (int64_t i = 0; i < shape.numel(); ++i)
    if (i % size < size / 2 && !(element(tensor.view(), i) == element(tensor.view(), i + size / 2))) return false;
  return true;
}

// Along its last axis, of even size, v repeats its first half: a table of angles that was written twice.
bool halves_equal(const Graph& graph, ValueId v) {
  const Shape& shape = graph.shape(v);
  const Node* node = graph.producer(v);
  if (node == nullptr || shape.rank() == 0 || shape[shape.rank() - 1] % 2 != 0) return false;
  const int64_t last = shape[shape.rank() - 1];
  const auto last_axis = static_cast<int64_t>(shape.rank()) - 1;
  const auto keeps_last = [&](ValueId source) {
    const Shape& from = graph.shape(source);
    return from.rank() > 0 && from[from.rank() - 1] == last;
  };
  switch (node->op) {
    case Op::constant: return constant_halves_equal(*node->constant);
    case Op::concat:
      return node->attrs.integer("axis") == last_axis && node->inputs.size() == 2 && node->inputs[0] == node->inputs[1];
    case Op::reshape:
    case Op::expand: return keeps_last(node->inputs[0]) && halves_equal(graph, node->inputs[0]);
    case Op::slice:
      return keeps_last(node->inputs[0]) && node->attrs.integers("steps").back() == 1 &&
             halves_equal(graph, node->inputs[0]);
    case Op::transpose: return node->attrs.integers("perm").back() == last_axis && halves_equal(graph, node->inputs[0]);
    case Op::gather:
      return node->attrs.integer("axis") != static_cast<int64_t>(graph.shape(node->inputs[0]).rank()) - 1 &&
             keeps_last(node->inputs[0]) && halves_equal(graph, node->inputs[0]);
    default: break;
  }
  // Pointwise: each operand is the same on both halves, or does not vary along the axis.
  return op_def(node->op).kind == OpKind::pointwise && std::ranges::all_of(node->inputs, [&](ValueId input) {
           const Shape& own = graph.shape(input);
           return own.rank() == 0 || own[own.rank() - 1] == 1 || halves_equal(graph, input);
         });
}

// x as elements [starts, ...) of a base, one after another; x itself where it is no slice.
struct Window {
  ValueId base;
  Dims starts;
};
Window window_of(const Graph& graph, ValueId x) {
  const Node* slice = made_by(graph, x, Op::slice);
  if (slice == nullptr || std::ranges::any_of(slice->attrs.integers("steps"), [](int64_t step) { return step != 1; }))
    return {x, Dims(graph.shape(x).rank(), 0)};
  return {slice->inputs[0], slice->attrs.integers("starts")};
}

// v is x's elements [start, start + size) along the last axis. A slice of a slice may have been merged into one.
bool is_last_axis_slice(const Graph& graph, ValueId v, ValueId x, int64_t start, int64_t size) {
  const Window inner = window_of(graph, v);
  Window outer = window_of(graph, x);
  if (inner.base != outer.base) outer = {x, Dims(graph.shape(x).rank(), 0)};
  outer.starts.back() += start;
  Dims sizes = graph.shape(x).dims();
  sizes.back() = size;
  return inner.base == outer.base && inner.starts == outer.starts && graph.shape(v).dims() == sizes;
}

// v is x turned by a quarter: (x1, x2) → (−x2, x1) on the halves of the last axis.
bool is_quarter_turn(const Graph& graph, ValueId v, ValueId x) {
  const Shape& shape = graph.shape(x);
  const Node* concat = part(graph, v, Op::concat);
  if (concat == nullptr || shape.rank() == 0 || concat->inputs.size() != 2) return false;
  const int64_t half = shape[shape.rank() - 1] / 2;
  const Node* negated = part(graph, concat->inputs[0], Op::neg);
  return negated != nullptr && half * 2 == shape[shape.rank() - 1] &&
         concat->attrs.integer("axis") == static_cast<int64_t>(shape.rank()) - 1 &&
         is_last_axis_slice(graph, negated->inputs[0], x, half, half) &&
         is_last_axis_slice(graph, concat->inputs[1], x, 0, half);
}

// v = x·table, with the table that varies along the last axis.
struct Turned {
  ValueId x, table;
};
std::vector<Turned> turned(const Graph& graph, ValueId v) {
  const Node* product = part(graph, v, Op::mul);
  if (product == nullptr) return {};
  return {{product->inputs[0], product->inputs[1]}, {product->inputs[1], product->inputs[0]}};
}

}  // namespace

// x·cos + turn(x)·sin, where turn is (x1, x2) → (−x2, x1) on halves and the tables repeat their first half
bool raise_rotary(Graph& graph, NodeId id) {
  const Node& sum = graph.node(id);
  for (const auto& [first, second] : both_orders(sum))
    for (const Turned& straight : turned(graph, first))
      for (const Turned& quarter : turned(graph, second)) {
        const ValueId x = straight.x;
        const Shape shape = graph.shape(x);
        if (!is_quarter_turn(graph, quarter.x, x) || graph.shape(sum.outputs[0]) != shape) continue;
        if (!halves_equal(graph, straight.table) || !halves_equal(graph, quarter.table)) continue;
        Builder b(graph, covered_origin(graph, id, {x, window_of(graph, x).base, straight.table, quarter.table}), id);
        const auto half = [&](ValueId table) {
          const size_t last = graph.shape(table).rank() - 1;
          return b.slice_axis(table, last, 0, shape[shape.rank() - 1] / 2);
        };
        const ValueId cos = half(straight.table);
        const ValueId sin = half(quarter.table);
        replace_node(graph, id, b.make(Op::rotary, {x, cos, sin}));
        return true;
      }
  return false;
}

}  // namespace stepc
