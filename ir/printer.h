#pragma once

#include "ir/constant_store.h"
#include "ir/graph.h"

#include <string>

namespace stepc {

// The text form of a graph (grammar in ir/README.md): `parse` makes the same graph of it. Larger constants go to
// `constants`; without a sink the text names their hashes only.
std::string print(const Graph& graph, ConstantSink* constants = nullptr);

// One node as its line in the text, with value names that are unique only in full prints; for messages.
std::string print_node(const Graph& graph, NodeId id);

// A floating-point number that reads back exactly: decimal where its few digits are exact, else hexadecimal.
std::string print_real(double value);

}  // namespace stepc
