#include "passes/fusion/outline.h"

#include "ir/builder.h"
#include "ir/uniform_constant.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

namespace stepc {
namespace {

std::set<NodeId> as_set(std::span<const NodeId> nodes) { return {nodes.begin(), nodes.end()}; }

// The nodes among `inside` that the results need, producers first. Chains are at most as deep as a body is large.
std::vector<NodeId> dependence_order(const Graph& graph, const std::set<NodeId>& inside,
                                     const std::vector<ValueId>& results) {
  std::set<NodeId> placed;
  std::vector<NodeId> order;
  const auto place = [&](auto& self, ValueId value) -> void {
    const NodeId id = graph.value(value).producer;
    if (!inside.contains(id) || !placed.insert(id).second) return;
    for (const ValueId operand : graph.node(id).inputs)
      if (operand.valid()) self(self, operand);
    order.push_back(id);
  };
  for (const ValueId result : results) place(place, result);
  return order;
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

}  // namespace

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

void copy_into(Graph& body, const Graph& graph, NodeId id, std::map<ValueId, ValueId>& inside) {
  const Node& source = graph.node(id);
  Node copy{source.op, {}, {}, source.attrs, source.origin, nullptr, nullptr};
  for (const ValueId operand : source.inputs) copy.inputs.push_back(operand.valid() ? inside.at(operand) : kNoValue);
  if (source.constant) copy.constant = std::make_unique<Tensor>(*source.constant);
  std::vector<Type> types;
  for (const ValueId output : source.outputs) types.push_back(graph.type(output));
  const NodeId made = body.insert(std::move(copy), std::move(types));
  for (size_t i = 0; i < source.outputs.size(); ++i) {
    inside[source.outputs[i]] = body.node(made).outputs[i];
    body.set_name(body.node(made).outputs[i], graph.value(source.outputs[i]).name);
  }
}

bool is_free_source(const Graph& graph, ValueId value) {
  const Node* producer = graph.producer(value);
  if (producer == nullptr) return false;
  return producer->op == Op::iota ||
         (producer->op == Op::constant && graph.shape(value).numel() == 1 && uniform_constant(graph, value));
}

std::vector<ValueId> external_operands(const Graph& graph, std::span<const NodeId> nodes) {
  const std::set<NodeId> inside = as_set(nodes);
  std::vector<ValueId> result;
  std::set<ValueId> seen;
  for (const NodeId id : nodes)
    for (const ValueId operand : graph.node(id).inputs)
      if (operand.valid() && !inside.contains(graph.value(operand).producer) && !is_free_source(graph, operand) &&
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

void Outliner::add(const Outline& outline) {
  std::set<NodeId> all = as_set(outline.nodes);
  all.insert(outline.copies.begin(), outline.copies.end());
  const std::vector<NodeId> nodes = dependence_order(graph_, all, outline.results);
  const std::vector<ValueId> read = external_operands(graph_, nodes);

  Graph body;
  std::map<ValueId, ValueId> inside;
  std::vector<ValueId> operands;
  for (const ValueId value : read) {
    inside[value] = body.add_input(graph_.type(value), InputRole::data, "a" + std::to_string(operands.size()));
    const auto replaced = replacements_.find(value);
    operands.push_back(replaced == replacements_.end() ? value : replaced->second);
  }
  for (const NodeId id : nodes) {
    for (const ValueId operand : graph_.node(id).inputs)
      if (operand.valid() && !inside.contains(operand)) copy_into(body, graph_, graph_.value(operand).producer, inside);
    copy_into(body, graph_, id, inside);
  }
  for (size_t i = 0; i < outline.results.size(); ++i)
    body.add_output(inside.at(outline.results[i]), OutputRole::output, "r" + std::to_string(i));

  const NodeId fused = Builder(graph_, merged_origin(graph_, nodes)).make_fused(operands, std::move(body));
  for (size_t i = 0; i < outline.results.size(); ++i) {
    const ValueId replacement = graph_.node(fused).outputs[i];
    graph_.set_name(replacement, graph_.value(outline.results[i]).name);
    replacements_.emplace(outline.results[i], replacement);
  }
}

void Outliner::finish() {
  for (const auto& [value, replacement] : replacements_) graph_.replace_uses(value, replacement);
  for (const NodeId id : graph_.order())
    if (graph_.alive(id)) erase_if_dead(graph_, id);
}

}  // namespace stepc
