#pragma once

#include "ir/graph.h"
#include "ir/layout.h"

#include <functional>

namespace stepc {

// Replaces the composites for which `expanded` holds by their decompositions, and what these contain likewise, until
// none is left. Layouts are those of the graph as it is when a node is judged. Returns whether the graph changed.
bool expand_composites(Graph& graph, const std::function<bool(NodeId, const Layouts&)>& expanded);

}  // namespace stepc
