#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stepc {

// Where a value's elements lie: element at coordinates c is at offset + Σ c[i]·strides[i] of its block, in elements.
// A block is a storage identity, named by the value that owns it. Views share their operand's block.
struct Layout {
  ValueId block;
  int64_t offset = 0;
  Dims strides;
  bool operator==(const Layout&) const = default;
};

bool is_row_major(const Layout& layout, const Shape& shape);  // strides only; the offset may be anything

// The layout of a view's result over its operand, or nullopt where strides cannot express it: a reshape across axes
// that do not merge (the rule of PyTorch's Tensor.view). `from` is the operand's layout, `shape` its shape.
std::optional<Layout> view_layout(const Node& view, const Layout& from, const Shape& shape, const Shape& result);

// The layout of every value. A view node aliases its operand where `view_layout` finds strides; every other result owns
// a new block, row-major but where its kernel writes in any order and another spares copies (layout.cpp).
class Layouts {
 public:
  explicit Layouts(const Graph& graph);
  const Layout& of(ValueId id) const { return layouts_[static_cast<size_t>(id.index)]; }
  ValueId block(ValueId id) const { return of(id).block; }
  bool is_alias(ValueId id) const { return of(id).block != id; }
  // A node whose results all alias: it costs no launch and no memory.
  bool is_alias(const Node& node) const { return is_alias(node.outputs[0]); }

 private:
  std::vector<Layout> layouts_;
};

}  // namespace stepc
