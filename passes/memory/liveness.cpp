#include "passes/memory/liveness.h"

#include "ir/op_def.h"
#include "ir/support/error.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace stepc {
namespace {

bool is_backward(Phase phase) { return phase == Phase::backward || phase == Phase::recompute; }

// The class of a computed block from the phase that makes it and the phases that read it or its views.
class ClassOfBlock {
 public:
  ClassOfBlock(const Graph& graph, const Layouts& layouts) : classes_(static_cast<size_t>(graph.value_limit())) {
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      for (const ValueId operand : node.inputs)
        if (operand.valid()) note_read(graph, layouts.block(operand), node.origin.phase);
    }
    for (const GraphOutput& output : graph.outputs())
      if (output.role == OutputRole::gradient) at(layouts.block(output.value)) = MemoryClass::gradient;
  }

  MemoryClass operator()(ValueId block) const {
    return classes_[static_cast<size_t>(block.index)].value_or(MemoryClass::temporary);
  }

 private:
  std::optional<MemoryClass>& at(ValueId block) { return classes_[static_cast<size_t>(block.index)]; }

  void note_read(const Graph& graph, ValueId block, Phase reader) {
    const Node* producer = graph.producer(block);
    if (producer == nullptr) return;
    const Phase made = producer->origin.phase;
    const bool saved = made <= Phase::loss && is_backward(reader);
    const bool recomputed = made == Phase::recompute && reader == Phase::backward;
    if (saved || recomputed) at(block) = MemoryClass::activation;
    if (made == Phase::backward && reader == Phase::optimizer) at(block) = MemoryClass::gradient;
  }

  std::vector<std::optional<MemoryClass>> classes_;
};

MemoryClass class_of_input(const GraphInput& input) {
  switch (input.role) {
    case InputRole::data:
    case InputRole::label: return MemoryClass::activation;
    case InputRole::weight: return MemoryClass::weight;
    case InputRole::state: return input.initializer.empty() ? MemoryClass::optimizer : MemoryClass::weight;
    case InputRole::accumulator: return MemoryClass::gradient;
  }
  return MemoryClass::temporary;
}

}  // namespace

bool is_launch(const Graph& graph, const Layouts& layouts, NodeId id) {
  const Node& node = graph.node(id);
  return node.op != Op::constant && !layouts.is_alias(node);
}

std::vector<NodeId> launches(const Graph& graph, const Layouts& layouts) {
  std::vector<NodeId> steps;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    if (is_launch(graph, layouts, id)) steps.push_back(id);
  return steps;
}

Liveness::Liveness(const Graph& graph, const Layouts& layouts, std::span<const NodeId> steps)
    : graph_(graph),
      layouts_(layouts),
      step_of_(static_cast<size_t>(graph.node_limit()), -1),
      block_of_(static_cast<size_t>(graph.value_limit()), -1),
      final_step_(std::max<int32_t>(static_cast<int32_t>(steps.size()) - 1, 0)) {
  for (size_t i = 0; i < steps.size(); ++i) step_of_[static_cast<size_t>(steps[i].index)] = static_cast<int32_t>(i);
  add_inputs();
  add_results(steps);
  last_read_.assign(blocks_.size(), -1);
  for (size_t i = 0; i < steps.size(); ++i)
    for (const ValueId operand : graph.node(steps[i]).inputs)
      if (operand.valid()) read(operand, static_cast<int32_t>(i));
  for (const GraphOutput& output : graph.outputs()) read(output.value, final_step_);
  share_states();
}

void Liveness::add_inputs() {
  for (const GraphInput& input : graph_.inputs()) {
    const bool persistent = input.role != InputRole::data && input.role != InputRole::label;
    block_of_[static_cast<size_t>(input.value.index)] = static_cast<int32_t>(blocks_.size());
    blocks_.push_back(
        {input.value, graph_.type(input.value).bytes(), class_of_input(input), persistent, 0, final_step_});
  }
}

void Liveness::add_results(std::span<const NodeId> steps) {
  const ClassOfBlock class_of_block(graph_, layouts_);
  const auto own = [&](ValueId value, MemoryClass memory_class, bool persistent, int32_t step) {
    block_of_[static_cast<size_t>(value.index)] = static_cast<int32_t>(blocks_.size());
    blocks_.push_back({value, graph_.type(value).bytes(), memory_class, persistent, step, step});
  };
  for (size_t i = 0; i < steps.size(); ++i)
    for (const ValueId output : graph_.node(steps[i]).outputs)
      own(output, class_of_block(output), /*persistent=*/false, static_cast<int32_t>(i));
  for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
    const Node& node = graph_.node(id);
    if (node.op == Op::constant) {
      own(node.outputs[0], MemoryClass::weight, /*persistent=*/true, 0);
      blocks_.back().last = final_step_;
    }
    for (const ValueId output : node.outputs)
      if (layouts_.is_alias(output)) block_of_[static_cast<size_t>(output.index)] = block_of(layouts_.block(output));
  }
}

void Liveness::read(ValueId id, int32_t step) {
  const auto index = static_cast<size_t>(block_of(id));
  blocks_[index].last = std::max(blocks_[index].last, step);
  last_read_[index] = std::max(last_read_[index], step);
}

// The new value may be written over the old one when nothing reads the old one afterwards, and its own producer, where
// it reads it, does so element by element.
bool Liveness::replaces_state(const StatePair& state, InPlace& in_place) const {
  const NodeId producer = graph_.value(state.output).producer;
  if (!producer.valid() || layouts_.is_alias(state.output)) return false;
  const int32_t written = step_of_[static_cast<size_t>(producer.index)];
  const int32_t old = block_of(state.input);
  if (written < 0 || last_read_[static_cast<size_t>(old)] > written) return false;
  const Node& node = graph_.node(producer);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].valid() || block_of(node.inputs[k]) != old) continue;
    const auto output = static_cast<size_t>(graph_.value(state.output).output);
    if (node.inputs[k] != state.input || !in_place.may_overwrite(node, output, k)) return false;
  }
  return true;
}

void Liveness::share_states() {
  std::vector<int32_t> redirect(blocks_.size());
  std::iota(redirect.begin(), redirect.end(), 0);
  InPlace in_place(graph_);
  for (const StatePair& state : graph_.states()) {
    const int32_t old = block_of(state.input);
    const int32_t own = redirect[static_cast<size_t>(block_of(state.output))];
    if (own == old) continue;
    if (!blocks_[static_cast<size_t>(own)].persistent && replaces_state(state, in_place)) {
      redirect[static_cast<size_t>(own)] = old;
      blocks_[static_cast<size_t>(own)].bytes = 0;
    } else {
      read(state.output, final_step_);
      state_copies_.push_back({state.output, state.input});
    }
  }
  for (int32_t& block : block_of_)
    if (block >= 0) block = redirect[static_cast<size_t>(block)];
}

int64_t Liveness::max_live_bytes() const {
  std::vector<int64_t> change(static_cast<size_t>(final_step_) + 2, 0);
  for (const BlockLife& block : blocks_) {
    if (block.persistent) continue;
    change[static_cast<size_t>(block.first)] += block.bytes;
    change[static_cast<size_t>(block.last) + 1] -= block.bytes;
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const int64_t delta : change) most = std::max(most, live += delta);
  return most;
}

}  // namespace stepc
