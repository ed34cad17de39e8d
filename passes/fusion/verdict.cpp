#include "passes/fusion/verdict.h"

#include "ir/value_names.h"

#include <fmt/format.h>

namespace stepc {

std::string edge_end(const Graph& graph, NodeId node) {
  return fmt::format("{} {}", op_name(graph.node(node).op), ValueNames(graph).of(graph.node(node).outputs[0]));
}

}  // namespace stepc
