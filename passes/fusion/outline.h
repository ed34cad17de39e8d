#pragma once

#include "ir/graph.h"

#include <span>
#include <vector>

namespace stepc {

// Whether a value costs nothing to make inside a kernel, so that each body gets its own copy: a constant of one
// element, or iota.
bool is_free_source(const Graph& graph, ValueId value);

// Distinct values that the nodes read from outside, in order of first use; free sources do not count.
std::vector<ValueId> external_operands(const Graph& graph, std::span<const NodeId> nodes);
// Results of the nodes that something outside reads, in order of production.
std::vector<ValueId> external_results(const Graph& graph, std::span<const NodeId> nodes);

// Replaces the nodes by one fused node at the end of the graph, whose body holds them in an order that respects their
// dependences, and free sources beside them. Its phase is the latest of theirs; body nodes keep their own.
NodeId outline(Graph& graph, std::vector<NodeId> nodes);

}  // namespace stepc
