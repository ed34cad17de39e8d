#include "passes/fusion/verdict.h"

#include <fmt/format.h>

namespace stepc {

std::string edge_end(const Graph& graph, NodeId node) {
  const ValueId value = graph.node(node).outputs[0];
  const std::string& name = graph.value(value).name;
  return fmt::format("{} %{}", op_name(graph.node(node).op), name.empty() ? std::to_string(value.index) : name);
}

}  // namespace stepc
