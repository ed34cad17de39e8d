#include "ir/origin_name.h"

#include "ir/op.h"
#include "ir/support/quote.h"

#include <fmt/format.h>

namespace stepc {

std::string origin_name(const Origin& origin) {
  if (!origin.onnx.empty()) return origin.onnx.front();
  if (!origin.scope.empty()) return origin.scope;
  return fmt::format("of phase {}", phase_name(origin.phase));
}

std::string node_name(const Graph& graph, const Node& node) {
  const std::string& result = node.outputs.empty() ? std::string() : graph.value(node.outputs[0]).name;
  const bool known = !node.origin.onnx.empty() || !node.origin.scope.empty() || result.empty();
  return fmt::format("node {} ({})", in_quotes(known ? origin_name(node.origin) : "%" + result), op_name(node.op));
}

}  // namespace stepc
