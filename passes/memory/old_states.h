#pragma once

#include "ir/graph.h"

namespace stepc {

// A state's new value is written over the old one. Whatever needs the old one after that gets a copy of it, made at the
// start of the step: outputs of the graph and other states that take it over, which are read at the end, and nodes that
// cannot run before the new value is made. All other readers come before the node that makes it then. Views of the old
// value count as the value. Whether the graph changed. n log n in the graph.
bool keep_old_states(Graph& graph);

}  // namespace stepc
