#include "ir/builder.h"
#include "ir/op_def.h"
#include "passes/canonicalize/rules.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>

namespace stepc {
namespace {

// `kept`, in the shape of the node's result, replaces the node.
void keep_operand(Graph& graph, NodeId id, ValueId kept) {
  const Node& node = graph.node(id);
  Builder b(graph, node.origin, id);
  replace_node(graph, id, b.expand(kept, graph.shape(node.outputs[0])));
}

// x op c is x, to the bit.
bool is_neutral(Op op, Dtype dtype, double c) {
  switch (op) {
    case Op::mul:
    case Op::div:
    case Op::pow: return c == 1;
    case Op::add: return c == 0 && (std::signbit(c) || !is_float(dtype));
    case Op::sub: return c == 0 && !std::signbit(c);
    case Op::logical_and: return c != 0;
    case Op::logical_or: return c == 0;
    default: return false;
  }
}

// The exponents e for which 2^e is a normal number.
int max_exponent(Dtype dtype) { return dtype == Dtype::f64 ? 1022 : dtype == Dtype::f16 ? 14 : 126; }

}  // namespace

bool drop_expansion(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  bool changed = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Node* expansion = graph.producer(node.inputs[i]);
    if (expansion == nullptr || expansion->op != Op::expand) continue;
    Shape shape = graph.shape(expansion->inputs[0]);
    for (size_t j = 0; j < node.inputs.size(); ++j)
      if (j != i) shape = broadcast_shapes(shape, graph.shape(node.inputs[j]));
    if (shape != graph.shape(node.outputs[0])) continue;
    const NodeId dropped = graph.value(node.inputs[i]).producer;
    graph.origin(id) = merge_origins(node.origin, expansion->origin);
    graph.set_operand(id, i, expansion->inputs[0]);
    erase_if_dead(graph, dropped);
    changed = true;
  }
  return changed;
}

bool constant_to_right(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!splat_constant(graph, node.inputs[0]) || splat_constant(graph, node.inputs[1])) return false;
  const ValueId left = node.inputs[0];
  const ValueId right = node.inputs[1];
  graph.set_operand(id, 0, right);
  graph.set_operand(id, 1, left);
  return true;
}

bool drop_neutral(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<double> c = splat_constant(graph, node.inputs[1]);
  if (!c || !is_neutral(node.op, graph.dtype(node.outputs[0]), *c)) return false;
  keep_operand(graph, id, node.inputs[0]);
  return true;
}

bool drop_involution(Graph& graph, NodeId id) {
  const Node& outer = graph.node(id);
  const Node* inner = graph.producer(outer.inputs[0]);
  if (inner == nullptr || inner->op != outer.op) return false;
  replace_node(graph, id, inner->inputs[0]);
  return true;
}

bool multiply_for_division(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Dtype dtype = graph.dtype(node.outputs[0]);
  const std::optional<double> c = splat_constant(graph, node.inputs[1]);
  if (!c || !is_float(dtype) || graph.shape(node.inputs[0]) != graph.shape(node.outputs[0])) return false;
  int exponent = 0;
  if (std::abs(std::frexp(*c, &exponent)) != 0.5 || std::abs(exponent - 1) > max_exponent(dtype)) return false;
  Builder b(graph, node.origin, id);
  replace_node(graph, id, b.mul(node.inputs[0], 1 / *c));
  return true;
}

bool multiply_for_square(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (splat_constant(graph, node.inputs[1]) != 2.0 || graph.shape(node.inputs[0]) != graph.shape(node.outputs[0]))
    return false;
  Builder b(graph, node.origin, id);
  replace_node(graph, id, b.mul(node.inputs[0], node.inputs[0]));
  return true;
}

bool choose_constant_select(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs[1] == node.inputs[2]) {
    keep_operand(graph, id, node.inputs[1]);
    return true;
  }
  const std::optional<double> condition = splat_constant(graph, node.inputs[0]);
  if (!condition) return false;
  keep_operand(graph, id, *condition != 0 ? node.inputs[1] : node.inputs[2]);
  return true;
}

}  // namespace stepc
