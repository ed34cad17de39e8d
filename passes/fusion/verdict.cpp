#include "passes/fusion/verdict.h"

#include <fmt/format.h>

namespace stepc {

std::string edge_end(const Graph& graph, const ValueNames& names, NodeId node) {
  return fmt::format("{} {}", op_name(graph.node(node).op), names.of(graph.node(node).outputs[0]));
}

std::string edge_end(const Graph& graph, NodeId node) { return edge_end(graph, ValueNames(graph), node); }

}  // namespace stepc
