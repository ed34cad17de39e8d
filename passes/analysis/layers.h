#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepc {

// The layer that a scope lies in: "blocks.3" of "blocks.3.mlp.0", up to its first number; empty where it has none.
std::string_view layer_scope(std::string_view scope);

// The repeated layers of a model, by the scopes of its nodes. Layers count from 0 in the order of the forward, over
// several stacks of them too.
struct Layers {
  std::vector<int32_t> of_node;  // per node index: its layer; -1 outside of layers and of the forward
  int32_t count = 0;
};

// A node without such a scope that reads a layer and is read by that layer alone belongs to it.
Layers find_layers(const Graph& graph);

}  // namespace stepc
