#pragma once

#include "ir/graph.h"

namespace stepc {

// Whether a node can be part of a region that is one loop nest (ir/kernel.h): pointwise nodes, views, reductions,
// gathers and the like. Others are kernels of their own kinds.
bool may_join(const Node& node);

// Whether an element of its result costs a few operations and no walk over others.
bool is_cheap(const Node& node);

}  // namespace stepc
