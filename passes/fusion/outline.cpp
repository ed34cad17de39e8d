#include "passes/fusion/outline.h"

#include "ir/builder.h"

#include <algorithm>
#include <map>
#include <set>

namespace stepc {
namespace {

std::set<NodeId> as_set(std::span<const NodeId> nodes) { return {nodes.begin(), nodes.end()}; }

// The nodes so that producers come first. Depth first from each node; chains are at most as deep as a body is large.
std::vector<NodeId> dependence_order(const Graph& graph, const std::vector<NodeId>& nodes) {
  const std::set<NodeId> inside = as_set(nodes);
  std::set<NodeId> placed;
  std::vector<NodeId> result;
  const auto place = [&](auto& self, NodeId id) -> void {
    if (!placed.insert(id).second) return;
    for (const ValueId operand : graph.node(id).inputs)
      if (const NodeId producer = graph.value(operand).producer; inside.contains(producer)) self(self, producer);
    result.push_back(id);
  };
  for (const NodeId id : nodes) place(place, id);
  return result;
}

std::string common_scope(const std::string& a, const std::string& b) {
  if (a == b) return a;
  const auto [end, other] = std::ranges::mismatch(a, b);
  const auto length = static_cast<size_t>(end - a.begin());
  const bool whole = (length == a.size() && (other == b.end() || *other == '.')) ||
                     (length == b.size() && end != a.end() && *end == '.');
  if (whole) return a.substr(0, length);
  const size_t dot = a.rfind('.', length == 0 ? 0 : length - 1);
  return dot == std::string::npos ? std::string() : a.substr(0, dot);
}

Origin merged_origin(const Graph& graph, std::span<const NodeId> nodes) {
  Origin merged = graph.node(nodes[0]).origin;
  for (const NodeId id : nodes.subspan(1)) {
    const Origin& origin = graph.node(id).origin;
    merged.phase = std::max(merged.phase, origin.phase);
    merged.onnx.insert(merged.onnx.end(), origin.onnx.begin(), origin.onnx.end());
    merged.scope = common_scope(merged.scope, origin.scope);
  }
  std::ranges::sort(merged.onnx);
  merged.onnx.erase(std::unique(merged.onnx.begin(), merged.onnx.end()), merged.onnx.end());
  return merged;
}

// A node copied into the body, operands already mapped.
NodeId copy_into(Graph& body, const Graph& graph, NodeId id, std::map<ValueId, ValueId>& inside) {
  const Node& source = graph.node(id);
  Node copy{source.op, {}, {}, source.attrs, source.origin, nullptr, nullptr};
  for (const ValueId operand : source.inputs) copy.inputs.push_back(inside.at(operand));
  if (source.constant) copy.constant = std::make_unique<Tensor>(*source.constant);
  std::vector<Type> types;
  for (const ValueId output : source.outputs) types.push_back(graph.type(output));
  const NodeId made = body.insert(std::move(copy), std::move(types));
  for (size_t i = 0; i < source.outputs.size(); ++i) {
    inside[source.outputs[i]] = body.node(made).outputs[i];
    body.set_name(body.node(made).outputs[i], graph.value(source.outputs[i]).name);
  }
  return made;
}

}  // namespace

bool is_free_source(const Graph& graph, ValueId value) {
  const Node* producer = graph.producer(value);
  if (producer == nullptr) return false;
  return producer->op == Op::iota || (producer->op == Op::constant && graph.shape(value).numel() == 1);
}

std::vector<ValueId> external_operands(const Graph& graph, std::span<const NodeId> nodes) {
  const std::set<NodeId> inside = as_set(nodes);
  std::vector<ValueId> result;
  std::set<ValueId> seen;
  for (const NodeId id : nodes)
    for (const ValueId operand : graph.node(id).inputs)
      if (!inside.contains(graph.value(operand).producer) && !is_free_source(graph, operand) &&
          seen.insert(operand).second)
        result.push_back(operand);
  return result;
}

std::vector<ValueId> external_results(const Graph& graph, std::span<const NodeId> nodes) {
  const std::set<NodeId> inside = as_set(nodes);
  std::vector<ValueId> result;
  for (const NodeId id : nodes)
    for (const ValueId output : graph.node(id).outputs)
      if (graph.is_output(output) ||
          std::ranges::any_of(graph.value(output).uses, [&](const Use& use) { return !inside.contains(use.node); }))
        result.push_back(output);
  return result;
}

NodeId outline(Graph& graph, std::vector<NodeId> nodes) {
  nodes = dependence_order(graph, nodes);
  const std::vector<ValueId> operands = external_operands(graph, nodes);
  const std::vector<ValueId> results = external_results(graph, nodes);

  Graph body;
  std::map<ValueId, ValueId> inside;
  for (size_t i = 0; i < operands.size(); ++i)
    inside[operands[i]] = body.add_input(graph.type(operands[i]), InputRole::data, "a" + std::to_string(i));
  for (const NodeId id : nodes) {
    for (const ValueId operand : graph.node(id).inputs)
      if (!inside.contains(operand)) copy_into(body, graph, graph.value(operand).producer, inside);
    copy_into(body, graph, id, inside);
  }
  for (size_t i = 0; i < results.size(); ++i)
    body.add_output(inside.at(results[i]), OutputRole::output, "r" + std::to_string(i));

  const NodeId fused = Builder(graph, merged_origin(graph, nodes)).make_fused(operands, std::move(body));
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueId replacement = graph.node(fused).outputs[i];
    graph.set_name(replacement, graph.value(results[i]).name);
    graph.replace_uses(results[i], replacement);
  }
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) graph.erase(*id);
  return fused;
}

}  // namespace stepc
