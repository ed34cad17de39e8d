#include "ir/in_place.h"

#include "ir/body_parts.h"
#include "ir/op_def.h"

#include <algorithm>

namespace stepc {
namespace {

bool is_plain_reduction(Op op) {
  return op == Op::reduce_sum || op == Op::reduce_max || op == Op::reduce_min || op == Op::reduce_prod;
}

// Nothing in the body reads at other coordinates than it is read at.
bool keeps_coordinates(const Graph& body) {
  for (NodeId id = body.first(); id.valid(); id = body.next(id)) {
    const Node& node = body.node(id);
    const OpKind kind = op_def(node.op).kind;
    if (kind != OpKind::pointwise && kind != OpKind::source && !is_plain_reduction(node.op)) return false;
  }
  return true;
}

// Every use of a body input reads it element by element over the whole iteration shape of the result, or reduces it:
// rows are stored after they have been reduced.
bool read_elementwise(const Graph& body, ValueId input, ValueId result) {
  const Shape& iteration = body.shape(result);
  if (body.shape(input) != iteration) return false;
  return std::ranges::all_of(body.value(input).uses, [&](const Use& use) {
    const Node& reader = body.node(use.node);
    return is_plain_reduction(reader.op) || body.shape(reader.outputs[0]) == iteration;
  });
}

// Kernels that walk the rows of their first operand and store rows of their first result last.
bool is_row_composite(Op op) {
  return op == Op::softmax || op == Op::log_softmax || op == Op::layer_norm || op == Op::rms_norm;
}

bool is_scatter(Op op) { return op == Op::scatter_add || op == Op::scatter_elements || op == Op::scatter_nd; }

// Whether the loop that makes the result is the one that reads the input: parts run in any order.
bool in_one_part(const Graph& body, ValueId input, ValueId result) {
  const std::vector<std::vector<NodeId>> parts = body_parts(body);
  if (parts.size() < 2) return true;
  const auto holds = [](const std::vector<NodeId>& part, NodeId id) { return std::ranges::count(part, id) != 0; };
  return std::ranges::any_of(parts, [&](const std::vector<NodeId>& part) {
    return holds(part, body.value(result).producer) &&
           std::ranges::all_of(body.value(input).uses, [&](const Use& use) { return holds(part, use.node); });
  });
}

bool is_contraction(const Graph& body) {
  for (NodeId id = body.first(); id.valid(); id = body.next(id))
    if (body.node(id).op == Op::contraction) return true;
  return false;
}

// The input of a contraction's body is added to its result, and that is all.
bool is_addend(const Graph& body, ValueId input) {
  const std::vector<Use>& uses = body.value(input).uses;
  return uses.size() == 1 && body.node(uses[0].node).op == Op::add;
}

}  // namespace

bool may_overwrite(const Graph& graph, const Node& node, size_t output, size_t operand) {
  const Type& result = graph.type(node.outputs[output]);
  if (!node.inputs[operand].valid() || graph.type(node.inputs[operand]) != result) return false;
  if (op_def(node.op).kind == OpKind::pointwise) return true;
  if (is_row_composite(node.op) || is_scatter(node.op)) return output == 0 && operand == 0;
  if (node.op != Op::fused) return false;
  if (is_contraction(*node.body)) return is_addend(*node.body, node.body->inputs()[operand].value);
  if (!keeps_coordinates(*node.body)) return false;
  const ValueId from = node.body->inputs()[operand].value, to = node.body->outputs()[output].value;
  return read_elementwise(*node.body, from, to) && in_one_part(*node.body, from, to);
}

}  // namespace stepc
