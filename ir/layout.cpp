#include "ir/layout.h"

#include "ir/op_def.h"
#include "ir/support/checked.h"
#include "ir/support/error.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stepc {
namespace {

// Strides of `to` over memory laid out as (from, strides), when consecutive axes of `from` merge as far as needed:
// each maximal run of axes that is contiguous in itself must be split exactly by a run of axes of `to`.
std::optional<Dims> reshape_strides(const Shape& from, const Dims& strides, const Shape& to) {
  if (from.numel() == 0 || from.rank() == 0) return row_major_strides(to);
  Dims result(to.rank(), 1);
  size_t to_left = to.rank();  // axes of `to` not yet assigned, from the right
  int64_t run = 1;             // elements of the current run of `from`
  int64_t assigned = 1;        // elements of `to` assigned within the run
  int64_t base = strides.back();
  for (size_t axis = from.rank(); axis-- > 0;) {
    run *= from[axis];
    const bool run_ends = axis == 0 || (from[axis - 1] != 1 && strides[axis - 1] != run * base);
    if (!run_ends) continue;
    while (to_left > 0 && (assigned < run || to[to_left - 1] == 1)) {
      --to_left;
      result[to_left] = assigned * base;
      assigned *= to[to_left];
    }
    if (assigned != run) return std::nullopt;
    if (axis == 0) break;
    base = strides[axis - 1];
    run = assigned = 1;
  }
  return to_left == 0 ? std::optional(result) : std::nullopt;
}

// Bytes that the views of a value copy where it lies as `layout` says.
int64_t copied_bytes(const Graph& graph, ValueId value, const Layout& layout) {
  int64_t bytes = 0;
  std::vector<std::pair<ValueId, Layout>> pending{{value, layout}};
  while (!pending.empty()) {
    const auto [source, from] = std::move(pending.back());
    pending.pop_back();
    for (const Use& use : graph.value(source).uses) {
      const Node& view = graph.node(use.node);
      if (op_def(view.op).kind != OpKind::view) continue;
      const ValueId result = view.outputs[0];
      if (std::optional<Layout> alias = view_layout(view, from, graph.shape(source), graph.shape(result)))
        pending.emplace_back(result, std::move(*alias));
      else
        bytes = checked_add(bytes, graph.type(result).bytes());
    }
  }
  return bytes;
}

// Strides under which the result of a transpose is row-major.
Dims strides_before(const Node& transpose, const Shape& result) {
  const Dims strides = row_major_strides(result);
  Dims before(strides.size());
  for (size_t i = 0; i < strides.size(); ++i)
    before[static_cast<size_t>(transpose.attrs.integers("perm")[i])] = strides[i];
  return before;
}

// linear_cross_entropy_backward, alone or in a kernel with the loss.
bool is_loss_gradient(const Node& node) {
  if (node.op != Op::fused) return node.op == Op::linear_cross_entropy_backward;
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
    if (is_loss_gradient(node.body->node(id))) return true;
  return false;
}

// Strides of the gradient of weights that are stored the other way round: all that reads it is their transpose.
std::optional<Dims> transposed_gradient(const Graph& graph, ValueId value) {
  const std::vector<Use>& uses = graph.value(value).uses;
  const auto is_transpose = [&](const Use& use) { return graph.node(use.node).op == Op::transpose; };
  if (graph.shape(value).rank() != 2 || uses.empty() || !std::ranges::all_of(uses, is_transpose)) return std::nullopt;
  const Node& reader = graph.node(uses[0].node);
  return strides_before(reader, graph.shape(reader.outputs[0]));
}

// Kernels of attention write in any order: heads that are merged behind them need not be copied. Each of their results
// has its axes in the order in which its views copy least, its own or that of a transpose that reads it. Among equals
// the greatest strides are chosen, for uses have no order: its own are greater than any other.
Dims own_strides(const Graph& graph, ValueId value) {
  Dims best = row_major_strides(graph.shape(value));
  const Node* producer = graph.producer(value);
  if (producer == nullptr || graph.is_output(value)) return best;
  if (is_loss_gradient(*producer)) return transposed_gradient(graph, value).value_or(best);
  if (producer->op != Op::attention && producer->op != Op::attention_backward) return best;
  int64_t least = copied_bytes(graph, value, {value, 0, best});
  std::set<Dims> tried{best};
  for (const Use& use : graph.value(value).uses) {
    const Node& reader = graph.node(use.node);
    if (reader.op != Op::transpose) continue;
    Dims strides = strides_before(reader, graph.shape(reader.outputs[0]));
    if (!tried.insert(strides).second) continue;
    const int64_t copied = copied_bytes(graph, value, {value, 0, strides});
    if (copied < least || (copied == least && strides > best)) least = copied, best = std::move(strides);
  }
  return best;
}

}  // namespace

bool is_row_major(const Layout& layout, const Shape& shape) {
  const Dims expected = row_major_strides(shape);
  for (size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] > 1 && layout.strides[i] != expected[i]) return false;
  return true;
}

std::optional<Layout> view_layout(const Node& view, const Layout& from, const Shape& shape, const Shape& result) {
  Layout layout{from.block, from.offset, {}};
  switch (view.op) {
    case Op::reshape: {
      std::optional<Dims> strides = reshape_strides(shape, from.strides, result);
      if (!strides) return std::nullopt;
      layout.strides = std::move(*strides);
      return layout;
    }
    case Op::transpose:
      for (const int64_t axis : view.attrs.integers("perm"))
        layout.strides.push_back(from.strides[static_cast<size_t>(axis)]);
      return layout;
    case Op::expand:
      layout.strides.assign(result.rank(), 0);
      for (size_t i = 0; i < shape.rank(); ++i)
        if (shape[i] != 1) layout.strides[result.rank() - shape.rank() + i] = from.strides[i];
      return layout;
    case Op::slice:
      for (size_t i = 0; i < shape.rank(); ++i) {
        layout.offset += result.numel() == 0 ? 0 : view.attrs.integers("starts")[i] * from.strides[i];
        layout.strides.push_back(from.strides[i] * view.attrs.integers("steps")[i]);
      }
      return layout;
    default: CHECK(false, "{} is not a view", op_name(view.op)); return std::nullopt;
  }
}

Layouts::Layouts(const Graph& graph) : layouts_(static_cast<size_t>(graph.value_limit())) {
  const auto own = [&](ValueId id) { layouts_[static_cast<size_t>(id.index)] = Layout{id, 0, own_strides(graph, id)}; };
  for (const GraphInput& input : graph.inputs()) own(input.value);
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    std::optional<Layout> view;
    if (op_def(node.op).kind == OpKind::view)
      view = view_layout(node, of(node.inputs[0]), graph.shape(node.inputs[0]), graph.shape(node.outputs[0]));
    if (view)
      layouts_[static_cast<size_t>(node.outputs[0].index)] = std::move(*view);
    else
      for (const ValueId output : node.outputs) own(output);
  }
}

}  // namespace stepc
