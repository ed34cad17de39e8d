#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <optional>

namespace stepc {

// A mask that has one number where key − query <= offset and another elsewhere, in every plane of its last two axes.
struct DiagonalMask {
  int64_t offset = 0;
  double inside = 0, outside = 0;
};

// Where a value is computed as such a mask from coordinates, whatever its size. What the exporter stored as a constant
// is seen by attention_mask.h; larger masks of a file are made computed ones by the importer (causal_initializer.h).
std::optional<DiagonalMask> diagonal_mask(const Graph& graph, ValueId mask);

}  // namespace stepc
