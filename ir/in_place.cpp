#include "ir/in_place.h"

#include "ir/op_def.h"

#include <algorithm>

namespace stepc {
namespace {

bool is_map(const Graph& graph) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    const OpKind kind = op_def(node.op).kind;
    if (kind != OpKind::pointwise && kind != OpKind::source) return false;
  }
  return true;
}

// Every use of a body input reads it element by element over the whole iteration shape.
bool read_elementwise(const Graph& body, ValueId input, const Shape& iteration) {
  if (body.shape(input) != iteration) return false;
  return std::ranges::all_of(body.value(input).uses,
                             [&](const Use& use) { return body.shape(body.node(use.node).outputs[0]) == iteration; });
}

}  // namespace

bool may_overwrite(const Graph& graph, const Node& node, size_t output, size_t operand) {
  const Type& result = graph.type(node.outputs[output]);
  if (!node.inputs[operand].valid() || graph.type(node.inputs[operand]) != result) return false;
  if (op_def(node.op).kind == OpKind::pointwise) return true;
  if (node.op != Op::fused || !is_map(*node.body)) return false;
  return read_elementwise(*node.body, node.body->inputs()[operand].value, result.shape);
}

}  // namespace stepc
