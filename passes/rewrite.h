#pragma once

#include "ir/graph.h"

#include <optional>

namespace stepc {

// The one element of a constant, seen through views and expansions: `v` has this value everywhere. Integers and
// booleans as numbers. Empty where v is not such a constant.
std::optional<double> splat_constant(const Graph& graph, ValueId v);

// `base` with the ONNX names of both.
Origin merge_origins(const Origin& base, const Origin& other);

// Erases a node that nobody reads, then its operands' producers for which the same holds now. Returns whether it did.
bool erase_if_dead(Graph& graph, NodeId id);

// Readers of the node's first result read `replacement` instead; the node goes if nothing else holds it. A nameless
// replacement takes over the name.
void replace_node(Graph& graph, NodeId id, ValueId replacement);

}  // namespace stepc
