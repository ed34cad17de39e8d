#include "ir/layout.h"

#include "ir/op_def.h"
#include "ir/support/error.h"

#include <algorithm>

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
  const auto own = [&](ValueId id) {
    layouts_[static_cast<size_t>(id.index)] = Layout{id, 0, row_major_strides(graph.shape(id))};
  };
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
