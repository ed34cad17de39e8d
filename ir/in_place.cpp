#include "ir/in_place.h"

#include "ir/body_parts.h"
#include "ir/op_def.h"
#include "ir/plain_reduction.h"

#include <algorithm>

namespace stepc {
namespace {

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

// The input of a contraction's body is added to its result, and that is all.
bool is_addend(const Graph& body, ValueId input) {
  const std::vector<Use>& uses = body.value(input).uses;
  return uses.size() == 1 && body.node(uses[0].node).op == Op::add;
}

}  // namespace

InPlace::Body::Body(const Graph& body) : part_of_node(static_cast<size_t>(body.node_limit()), -1) {
  for (NodeId id = body.first(); id.valid(); id = body.next(id)) {
    const Op op = body.node(id).op;
    const OpKind kind = op_def(op).kind;
    is_contraction |= op == Op::contraction;
    keeps_coordinates &= kind == OpKind::pointwise || kind == OpKind::source || is_plain_reduction(op);
  }
  int32_t number = 0;
  for (const std::vector<NodeId>& part : body_parts(body)) {
    for (const NodeId id : part) part_of_node[static_cast<size_t>(id.index)] = number;
    ++number;
  }
}

bool InPlace::may_overwrite(const Node& node, size_t output, size_t operand) {
  const Type& result = graph_.type(node.outputs[output]);
  if (!node.inputs[operand].valid() || graph_.type(node.inputs[operand]) != result) return false;
  if (op_def(node.op).kind == OpKind::pointwise) return true;
  if (is_row_composite(node.op) || is_scatter(node.op)) return output == 0 && operand == 0;
  if (node.op != Op::fused) return false;
  const Graph& body = *node.body;
  const ValueId from = body.inputs()[operand].value, to = body.outputs()[output].value;
  const Body& about = examined(body);
  if (about.is_contraction) return is_addend(body, from);
  if (!about.keeps_coordinates || !read_elementwise(body, from, to)) return false;
  const auto part_of = [&](NodeId id) { return id.valid() ? about.part_of_node[static_cast<size_t>(id.index)] : -1; };
  const int32_t writer = part_of(body.value(to).producer);
  return writer >= 0 &&
         std::ranges::all_of(body.value(from).uses, [&](const Use& use) { return part_of(use.node) == writer; });
}

}  // namespace stepc
