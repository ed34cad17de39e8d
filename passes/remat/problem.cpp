#include "passes/remat/problem.h"

#include "ir/cost/roofline.h"
#include "ir/layout.h"
#include "ir/op_def.h"
#include "passes/analysis/layers.h"
#include "passes/analysis/saved_listing.h"
#include "passes/fusion/step_part.h"

#include <algorithm>

namespace stepc {
namespace {

using Maker = RematValue::Maker;

bool multiplies(const Node& node) { return op_def(node.op).kind == OpKind::contraction || node.op == Op::attention; }

// A weight or its 16-bit copy, or one of them through views and casts.
bool is_parameter(const Graph& graph, ValueId value) {
  for (const Node* node = graph.producer(value); node != nullptr; node = graph.producer(value)) {
    if (op_def(node->op).kind != OpKind::view && node->op != Op::cast) return false;
    value = node->inputs[0];
  }
  const GraphInput& input = *graph.input_of(value);
  return input.role == InputRole::weight || (input.role == InputRole::state && !input.initializer.empty());
}

Maker maker_of(const Graph& graph, const Node& node) {
  if (multiplies(node)) {
    const bool weighted = std::ranges::any_of(
        node.inputs, [&](ValueId operand) { return operand.valid() && is_parameter(graph, operand); });
    return weighted ? Maker::weighted_product : Maker::product;
  }
  switch (op_def(node.op).kind) {
    case OpKind::source:
    case OpKind::pointwise:
    case OpKind::view:
    case OpKind::reduction: return Maker::cheap;
    case OpKind::composite: return node.op == Op::linear_cross_entropy ? Maker::weighted_product : Maker::cheap;
    default: return Maker::moved;
  }
}

class Describer {
 public:
  Describer(const Graph& graph, const DeviceSpec& device)
      : graph_(graph), device_(device), layouts_(graph), layers_(find_layers(graph)) {
    number_.assign(static_cast<size_t>(graph.value_limit()), -1);
  }

  RematProblem run() {
    problem_.layers = layers_.count;
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
      const Node& node = graph_.node(id);
      const StepPart part = part_of_step(node.origin.phase);
      if (part == StepPart::forward)
        describe(id);
      else if (part == StepPart::backward && keeps_operands(node))
        for (const ValueId operand : node.inputs)
          if (const int32_t value = number(operand); value >= 0) at(value).needed = true;
    }
    return std::move(problem_);
  }

 private:
  RematValue& at(int32_t value) { return problem_.values[static_cast<size_t>(value)]; }
  int32_t layer(NodeId id) const { return layers_.of_node[static_cast<size_t>(id.index)]; }
  // Of the block that a value lies in, -1 where it is no value of the problem.
  int32_t number(ValueId value) const {
    return value.valid() ? number_[static_cast<size_t>(layouts_.block(value).index)] : -1;
  }

  void describe(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<int32_t> operands;
    for (const ValueId operand : node.inputs)
      if (const int32_t value = number(operand); value >= 0) {
        operands.push_back(value);
        if (layer(id) < 0) at(value).is_read_outside = true;
        if (layer(id) != at(value).layer) at(value).read_by_layer = std::max(at(value).read_by_layer, layer(id));
      }
    if (node.op == Op::constant || layouts_.is_alias(node)) return;
    for (const ValueId output : node.outputs) {
      number_[static_cast<size_t>(output.index)] = static_cast<int32_t>(problem_.values.size());
      RematValue value;
      value.value = output;
      value.name = saved_name(graph_, output);
      value.scope = node.origin.scope;
      value.onnx = node.origin.onnx;
      value.maker = maker_of(graph_, node);
      value.bytes = graph_.type(output).bytes();
      value.layer = layer(id);
      value.operands = operands;
      value.recompute_us = predicted_us(graph_, node, device_);
      problem_.values.push_back(std::move(value));
    }
  }

  const Graph& graph_;
  const DeviceSpec& device_;
  const Layouts layouts_;
  const Layers layers_;
  std::vector<int32_t> number_;  // per value index
  RematProblem problem_;
};

}  // namespace

bool keeps_operands(const Node& node) { return node.op != Op::linear_cross_entropy_backward; }

RematProblem remat_problem(const Graph& graph, const DeviceSpec& device) { return Describer(graph, device).run(); }

}  // namespace stepc
