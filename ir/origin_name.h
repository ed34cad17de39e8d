#pragma once

#include "ir/graph.h"

#include <string>

namespace stepc {

// What messages call a node: the first ONNX node that it stems from, else its scope, else its phase.
std::string origin_name(const Origin& origin);
// "node 'origin' (op)", and its result's name where that says more.
std::string node_name(const Graph& graph, const Node& node);

}  // namespace stepc
