#pragma once

#include "ir/graph.h"

#include <vector>

namespace stepc {

// The nodes of a fused body in groups that have nothing to do with each other: none reads what another makes, and no
// operand of more than one element is read by two. One group is the usual case. Several are kernels of one launch, each
// over a space of its own (many small parameters, updated alike). Constants and iota belong to no group. Groups come in
// the order of their first nodes.
std::vector<std::vector<NodeId>> body_parts(const Graph& body);

}  // namespace stepc
