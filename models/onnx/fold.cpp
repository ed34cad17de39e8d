#include "models/onnx/fold.h"

#include "ir/ref_tensor.h"
#include "ir/support/error.h"

#include <algorithm>
#include <optional>

namespace stepc::onnx_import {
namespace {

// A causal mask over 1024 positions; shape arithmetic needs a handful.
constexpr int64_t kIntegerLimit = int64_t{1} << 20;
// A rotary table of 2048 positions and 128 channels.
constexpr int64_t kFloatLimit = int64_t{1} << 18;
// An expanded constant is a view that costs nothing; only what shape arithmetic makes is worth writing out.
constexpr int64_t kExpandLimit = int64_t{1} << 12;
// Keeps a contraction of small constants from costing more time than the step would.
constexpr int64_t kFlopLimit = int64_t{1} << 28;

const Tensor* payload(const Graph& graph, ValueId value) {
  const Node* producer = graph.producer(value);
  return producer != nullptr && producer->op == Op::constant ? producer->constant.get() : nullptr;
}

bool worth_folding(const Graph& graph, const Node& node) {
  if (node.op == Op::constant || node.op == Op::random || node.op == Op::fused) return false;
  for (const ValueId input : node.inputs)
    if (input.valid() && payload(graph, input) == nullptr) return false;
  for (const ValueId output : node.outputs) {
    const Type& type = graph.type(output);
    if (type.shape.numel() > (is_float(type.dtype) ? kFloatLimit : kIntegerLimit)) return false;
    if (node.op == Op::expand && type.shape.numel() > kExpandLimit) return false;
  }
  const auto flops = op_def(node.op).flops;
  return flops == nullptr || flops(graph, node) <= kFlopLimit;
}

std::vector<RefTensor> evaluate(const Graph& graph, const Node& node) {
  std::vector<RefTensor> operands;
  std::vector<const RefTensor*> inputs;
  operands.reserve(node.inputs.size());
  for (const ValueId input : node.inputs)
    inputs.push_back(input.valid() ? &operands.emplace_back(payload(graph, input)->view()) : nullptr);
  std::vector<RefTensor> outputs;
  for (const ValueId output : node.outputs) outputs.emplace_back(graph.type(output));
  evaluate_node(EvalArgs{.node = node, .inputs = inputs, .outputs = outputs, .round_floats = true});
  return outputs;
}

}  // namespace

std::map<ValueId, ValueId> fold_after(Graph& graph, NodeId last) {
  std::map<ValueId, ValueId> replaced;
  NodeId next = last.valid() ? graph.next(last) : graph.first();
  while (next.valid()) {
    const NodeId id = next;
    next = graph.next(id);
    const Node& node = graph.node(id);
    if (!worth_folding(graph, node)) continue;
    const std::vector<RefTensor> results = evaluate(graph, node);
    Builder builder(graph, node.origin, id);
    for (size_t i = 0; i < results.size(); ++i) {
      const ValueId constant = builder.constant(results[i].to_tensor());
      graph.set_name(constant, graph.value(node.outputs[i]).name);
      graph.replace_uses(node.outputs[i], constant);
      replaced.emplace(node.outputs[i], constant);
    }
    graph.erase(id);
  }
  return replaced;
}

void erase_unused(Graph& graph) {
  std::vector<NodeId> order = graph.order();
  std::reverse(order.begin(), order.end());
  for (const NodeId id : order) {
    const std::vector<ValueId>& outputs = graph.node(id).outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](ValueId output) { return graph.is_used(output); }))
      graph.erase(id);
  }
}

}  // namespace stepc::onnx_import
