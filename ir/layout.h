#pragma once

#include "ir/graph.h"

#include <cstdint>
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

// The layout of every value. A view operation aliases its operand where strides can express the result (PyTorch's rule
// for `view`); a reshape that strides cannot express owns a new row-major block, and so does every other operation.
class Layouts {
 public:
  explicit Layouts(const Graph& graph);
  const Layout& of(ValueId id) const { return layouts_[static_cast<size_t>(id.index)]; }
  // A view node that aliases: it costs no launch and no memory.
  bool is_alias(NodeId id) const { return alias_[static_cast<size_t>(id.index)]; }

 private:
  std::vector<Layout> layouts_;
  std::vector<bool> alias_;
};

// The layout of a view operation's result over an operand laid out as `from`, or nullopt where it needs a copy.
bool is_row_major(const Layout& layout, const Shape& shape);

}  // namespace stepc
