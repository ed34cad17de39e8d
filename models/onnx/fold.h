#pragma once

#include "ir/builder.h"

#include <map>

namespace stepc::onnx_import {

// Evaluates the nodes after `last` (all nodes when it is kNoNode) whose operands are all constants and puts constants
// in their place, so that shape arithmetic, positions and masks disappear while the graph is built. Returns what
// replaced the values that are gone. Big results stay nodes: see the limits in fold.cpp.
std::map<ValueId, ValueId> fold_after(Graph& graph, NodeId last);

// Erases nodes that no output needs.
void erase_unused(Graph& graph);

}  // namespace stepc::onnx_import
