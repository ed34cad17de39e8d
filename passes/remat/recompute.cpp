#include "passes/remat/recompute.h"

#include "ir/layout.h"
#include "ir/op_def.h"
#include "passes/fusion/step_part.h"

#include <algorithm>
#include <map>
#include <set>

namespace stepc {
namespace {

class Recomputation {
 public:
  Recomputation(Graph& graph, const RematProblem& problem, const RematDecision& kept)
      : graph_(graph), layouts_(graph), order_(graph.order()) {
    dropped_.assign(static_cast<size_t>(graph.value_limit()), false);
    for (size_t i = 0; i < kept.size(); ++i) dropped_[index(problem.values[i].value)] = !kept[i];
    position_.assign(static_cast<size_t>(graph.node_limit()), 0);
    for (size_t i = 0; i < order_.size(); ++i) position_[static_cast<size_t>(order_[i].index)] = i;
  }

  Recomputed run() {
    for (const NodeId id : order_) {
      if (part_of_step(graph_.node(id).origin.phase) != StepPart::backward || !keeps_operands(graph_.node(id)))
        continue;
      for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
        const ValueId operand = graph_.node(id).inputs[i];
        if (!is_dropped(operand)) continue;
        count_value(layouts_.block(operand));
        make(operand, id);
        graph_.set_operand(id, i, copies_.at(operand));
      }
    }
    return result_;
  }

 private:
  static size_t index(ValueId id) { return static_cast<size_t>(id.index); }
  // A dropped block, or a view that the forward takes of it. One that the backward takes is a view of the copy by then.
  bool is_dropped(ValueId value) const {
    const Node* producer = value.valid() ? graph_.producer(value) : nullptr;
    return producer != nullptr && part_of_step(producer->origin.phase) == StepPart::forward &&
           dropped_[index(layouts_.block(value))];
  }

  void count_value(ValueId block) {
    if (!counted_.insert(block).second) return;
    ++result_.values;
    result_.bytes += graph_.type(block).bytes();
  }

  // Copies what makes a dropped value, as far as there is no copy yet, in front of its first reader.
  void make(ValueId value, NodeId before) {
    std::set<size_t> slice;  // positions
    std::vector<ValueId> pending{value};
    while (!pending.empty()) {
      const ValueId next = pending.back();
      pending.pop_back();
      const NodeId producer = graph_.value(next).producer;
      if (!is_dropped(next) || copies_.contains(next)) continue;
      if (!slice.insert(position_[static_cast<size_t>(producer.index)]).second) continue;
      const std::vector<ValueId>& operands = graph_.node(producer).inputs;
      pending.insert(pending.end(), operands.begin(), operands.end());
    }
    for (const size_t position : slice) copy(order_[position], before);
  }

  void copy(NodeId id, NodeId before) {
    const Node& source = graph_.node(id);
    Node node{source.op, source.inputs, {}, source.attrs, source.origin, nullptr, nullptr};
    node.origin.phase = Phase::recompute;
    for (ValueId& operand : node.inputs)
      if (is_dropped(operand)) operand = copies_.at(operand);
    std::vector<Type> types;
    for (const ValueId output : source.outputs) types.push_back(graph_.type(output));
    const NodeId made = graph_.insert(std::move(node), std::move(types), before);
    for (size_t i = 0; i < source.outputs.size(); ++i) {
      const ValueId original = source.outputs[i], again = graph_.node(made).outputs[i];
      copies_[original] = again;
      graph_.set_name(again, graph_.value(original).name);
    }
    ++result_.nodes;
    result_.flops += node_cost(graph_, graph_.node(made)).flops;
  }

  Graph& graph_;
  const Layouts layouts_;  // of the graph as it was
  const std::vector<NodeId> order_;
  std::vector<size_t> position_;  // per node index
  std::vector<bool> dropped_;     // per value index: a block's owner that is not kept
  std::map<ValueId, ValueId> copies_;
  std::set<ValueId> counted_;
  Recomputed result_;
};

}  // namespace

Recomputed recompute(Graph& graph, const RematProblem& problem, const RematDecision& kept) {
  return Recomputation(graph, problem, kept).run();
}

}  // namespace stepc
