// The rules of the IR, one function each. This file is their specification.

#include "ir/verifier.h"

#include "ir/layout.h"
#include "ir/op_def.h"
#include "ir/printer.h"
#include "ir/support/quote.h"

#include <algorithm>
#include <map>
#include <set>

namespace stepc {
namespace {

// One graph under verification, with the position of every node in the order.
class Verification {
 public:
  explicit Verification(const Graph& graph) : graph_(graph), position_(static_cast<size_t>(graph.node_limit()), -1) {
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      if (position_[index(id)] >= 0 || static_cast<size_t>(count_) == graph.node_count())
        fail("order", id, "the list of nodes does not visit each node once");
      position_[index(id)] = count_++;
      order_.push_back(id);
    }
    if (static_cast<size_t>(count_) != graph.node_count()) fail("order", kNoNode, "nodes are missing in the list");
  }

  void run() {
    for (const NodeId id : order_) {
      rule_ssa(id);
      rule_operands_alive(id);
      rule_topological_order(id);
      rule_payload(id);
      rule_attrs_complete(id);
      rule_types_inferred(id);
      rule_phase_order(id);
      rule_fused(id);
    }
    rule_use_lists();
    rule_input_names();
    rule_output_names();
    rule_states();
  }

  void run_scheduled() {
    const Layouts layouts(graph_);
    std::map<ValueId, NodeId> writers;  // of the states that get a new value; kNoNode: copied after the last launch
    for (const StatePair& state : graph_.states())
      if (state.output != state.input)
        writers[state.input] = layouts.is_alias(state.output) ? kNoNode : graph_.value(state.output).producer;
    rule_no_state_read_after_write(layouts, writers);
    rule_no_state_kept(layouts, writers);
  }

 private:
  template <typename Id>
  static size_t index(Id id) {
    return static_cast<size_t>(id.index);
  }

  [[noreturn]] void fail(const char* rule, NodeId id, const std::string& message) const {
    const std::string where = id.valid() ? fmt::format(" at `{}`", one_line(print_node(graph_, id))) : std::string();
    throw VerifyError(rule, id, fmt::format("rule {}: {}{}", rule, message, where));
  }

  // Each value has one producer: it names its node and position, and the node names it.
  void rule_ssa(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.outputs.empty()) fail("ssa", id, "the node has no output");
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!graph_.alive(output))
        throw VerifyError("ssa", id, fmt::format("rule ssa: output {} of {} is dead", i, op_name(node.op)));
      const Value& value = graph_.value(output);
      if (value.producer != id || value.output != static_cast<int32_t>(i))
        fail("ssa", id, fmt::format("output {} has another producer", i));
    }
  }

  void rule_operands_alive(NodeId id) const {
    const Node& node = graph_.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && !graph_.alive(node.inputs[i]))
        fail("operands_alive", id, fmt::format("operand {} is dead", i));
  }

  void rule_topological_order(NodeId id) const {
    for (const ValueId input : graph_.node(id).inputs) {
      if (!input.valid()) continue;
      const NodeId producer = graph_.value(input).producer;
      if (producer.valid() && position_[index(producer)] >= position_[index(id)])
        fail("topological_order", id, fmt::format("operand of `{}` comes later", print_node(graph_, producer)));
    }
  }

  // Constants have a payload of their type and fused nodes a body; other nodes have neither.
  void rule_payload(NodeId id) const {
    const Node& node = graph_.node(id);
    if ((node.op == Op::constant) != (node.constant != nullptr)) fail("payload", id, "payload and operation disagree");
    if ((node.op == Op::fused) != (node.body != nullptr)) fail("payload", id, "body and operation disagree");
    if (node.constant && node.constant->type() != graph_.type(node.outputs[0]))
      fail("payload", id, "payload of type " + to_string(node.constant->type()));
  }

  void rule_attrs_complete(NodeId id) const {
    const Node& node = graph_.node(id);
    Attrs completed = node.attrs;
    try {
      complete_attrs(node.op, node.inputs.size(), completed);
    } catch (const UserError& error) {
      fail("attrs_complete", id, error.what());
    }
    if (completed.size() != node.attrs.size()) fail("attrs_complete", id, "an attribute is missing");
  }

  void rule_types_inferred(NodeId id) const {
    const Node& node = graph_.node(id);
    std::vector<const Type*> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? &graph_.type(input) : nullptr);
    std::vector<Type> types;
    try {
      types = infer_types(InferArgs{node.op, inputs, node.attrs, node.constant.get(), node.body.get()});
    } catch (const UserError& error) {
      fail("types_inferred", id, error.what());
    }
    if (types.size() != node.outputs.size())
      fail("types_inferred", id, fmt::format("{} outputs, {} inferred", node.outputs.size(), types.size()));
    for (size_t i = 0; i < types.size(); ++i)
      if (types[i] != graph_.type(node.outputs[i]))
        fail("types_inferred", id, fmt::format("output {} is inferred as {}", i, to_string(types[i])));
  }

  // Forward and loss read nothing of what comes after the loss; backward and recompute nothing of the optimizer.
  void rule_phase_order(NodeId id) const {
    const Node& node = graph_.node(id);
    const bool early = node.origin.phase <= Phase::loss;
    if (node.origin.phase == Phase::optimizer) return;
    for (const ValueId input : node.inputs) {
      const Node* producer = input.valid() ? graph_.producer(input) : nullptr;
      if (producer == nullptr) continue;
      const Phase phase = producer->origin.phase;
      if (phase == Phase::optimizer || (early && phase > Phase::loss))
        fail("phase_order", id,
             fmt::format("phase {} reads phase {}", phase_name(node.origin.phase), phase_name(phase)));
    }
  }

  // The body obeys the rules and has no state; the node's phase is the latest of its body.
  void rule_fused(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!node.body) return;
    try {
      verify(*node.body);
    } catch (const VerifyError& error) {
      fail("fused", id, error.what());
    }
    if (!node.body->states().empty()) fail("fused", id, "the body has a state");
    Phase latest = Phase::forward;
    for (NodeId inner = node.body->first(); inner.valid(); inner = node.body->next(inner))
      latest = std::max(latest, node.body->node(inner).origin.phase);
    if (node.body->node_count() > 0 && latest != node.origin.phase)
      fail("fused", id,
           fmt::format("phase {} over a body of phase {}", phase_name(node.origin.phase), phase_name(latest)));
  }

  void rule_use_lists() const {
    std::vector<size_t> uses(static_cast<size_t>(graph_.value_limit()), 0);
    for (const NodeId id : order_) {
      const Node& node = graph_.node(id);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId input = node.inputs[i];
        if (!input.valid()) continue;
        ++uses[index(input)];
      }
    }
    for (int32_t v = 0; v < graph_.value_limit(); ++v) {
      if (!graph_.alive(ValueId{v})) continue;
      const Value& value = graph_.value(ValueId{v});
      if (value.uses.size() != uses[static_cast<size_t>(v)])
        fail("use_lists", value.producer,
             fmt::format("{} uses listed, {} found", value.uses.size(), uses[static_cast<size_t>(v)]));
      for (const Use& use : value.uses) {
        const bool found = graph_.alive(use.node) && use.operand >= 0 &&
                           static_cast<size_t>(use.operand) < graph_.node(use.node).inputs.size() &&
                           graph_.node(use.node).inputs[static_cast<size_t>(use.operand)] == ValueId{v};
        if (!found)
          fail("use_lists", value.producer, fmt::format("listed use by node {} does not exist", use.node.index));
      }
    }
  }

  void rule_input_names() const {
    std::set<std::string_view> names;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const GraphInput& input = graph_.inputs()[i];
      if (!names.insert(input.name).second) fail("input_names", kNoNode, fmt::format("two inputs \"{}\"", input.name));
      if (!graph_.alive(input.value) || graph_.value(input.value).producer.valid() ||
          graph_.value(input.value).output != static_cast<int32_t>(i))
        fail("input_names", kNoNode, fmt::format("input \"{}\" is not value {}", input.name, input.value.index));
      const bool weight = input.role == InputRole::weight, state = input.role == InputRole::state;
      if (!weight && (input.trainable || (!state && !input.initializer.empty())))
        fail("input_names", kNoNode,
             fmt::format("input \"{}\" is no weight, but trainable or an initializer", input.name));
      if (!state && input.initial != 0)
        fail("input_names", kNoNode, fmt::format("input \"{}\" is no state, but has an initial value", input.name));
    }
  }

  void rule_output_names() const {
    std::set<std::string_view> names;
    for (const GraphOutput& output : graph_.outputs()) {
      if (!names.insert(output.name).second)
        fail("output_names", kNoNode, fmt::format("two outputs \"{}\"", output.name));
      if (!graph_.alive(output.value)) fail("output_names", kNoNode, fmt::format("output \"{}\" is dead", output.name));
    }
  }

  // A state joins a graph input that persists with a value of its type, once.
  void rule_states() const {
    std::set<ValueId> seen;
    for (const StatePair& state : graph_.states()) {
      if (!graph_.alive(state.input) || !graph_.alive(state.output)) fail("states", kNoNode, "a state of a dead value");
      const GraphInput* input = graph_.input_of(state.input);
      if (input == nullptr) fail("states", graph_.value(state.input).producer, "a state's input is no graph input");
      if (input->role == InputRole::data || input->role == InputRole::label)
        fail("states", kNoNode, fmt::format("input \"{}\" does not persist", input->name));
      if (!seen.insert(state.input).second) fail("states", kNoNode, fmt::format("two states of \"{}\"", input->name));
      if (graph_.type(state.input) != graph_.type(state.output))
        fail("states", kNoNode,
             fmt::format("\"{}\" of {} becomes {}", input->name, to_string(graph_.type(state.input)),
                         to_string(graph_.type(state.output))));
    }
  }

  // A state's block holds the new value from the moment it is written.
  void rule_no_state_read_after_write(const Layouts& layouts, const std::map<ValueId, NodeId>& writers) const {
    for (const NodeId id : order_) {
      if (layouts.is_alias(graph_.node(id))) continue;
      for (const ValueId operand : graph_.node(id).inputs) {
        const auto state = operand.valid() ? writers.find(layouts.block(operand)) : writers.end();
        if (state == writers.end() || !state->second.valid()) continue;
        if (position_[index(id)] > position_[index(state->second)])
          fail("no_state_read_after_write", id,
               fmt::format("\"{}\" was written by `{}`", graph_.input_of(state->first)->name,
                           print_node(graph_, state->second)));
      }
    }
  }

  // Outputs, and states that take over another value, are read after the last launch: what they are must be there then.
  void rule_no_state_kept(const Layouts& layouts, const std::map<ValueId, NodeId>& writers) const {
    const auto check = [&](ValueId value, std::string_view what, const std::string& name) {
      if (const ValueId block = layouts.block(value); writers.contains(block))
        fail("no_state_kept", kNoNode,
             fmt::format("{} \"{}\" lies in the block of \"{}\", which is written", what, name,
                         graph_.input_of(block)->name));
    };
    for (const GraphOutput& output : graph_.outputs()) check(output.value, "output", output.name);
    for (const StatePair& state : graph_.states())
      if (state.output != state.input) check(state.output, "state", graph_.input_of(state.input)->name);
  }

  const Graph& graph_;
  std::vector<int32_t> position_;  // per node index; -1: not in the order
  std::vector<NodeId> order_;
  int32_t count_ = 0;
};

}  // namespace

void verify(const Graph& graph) { Verification(graph).run(); }

void verify_scheduled(const Graph& graph) {
  Verification verification(graph);
  verification.run();
  verification.run_scheduled();
}

}  // namespace stepc
