#include "ir/graph.h"

#include "ir/support/error.h"

#include <algorithm>
#include <array>

namespace stepc {
namespace {

constexpr std::array<std::string_view, 5> kInputRoles{"data", "label", "weight", "state", "accumulator"};
constexpr std::array<std::string_view, 4> kOutputRoles{"output", "loss", "gradient", "metric"};

template <typename Role, size_t N>
std::optional<Role> role_from_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto position = std::find(names.begin(), names.end(), name);
  if (position == names.end()) return std::nullopt;
  return static_cast<Role>(position - names.begin());
}

}  // namespace

std::string_view input_role_name(InputRole role) { return kInputRoles[static_cast<size_t>(role)]; }
std::string_view output_role_name(OutputRole role) { return kOutputRoles[static_cast<size_t>(role)]; }
std::optional<InputRole> input_role_from_name(std::string_view name) {
  return role_from_name<InputRole>(kInputRoles, name);
}
std::optional<OutputRole> output_role_from_name(std::string_view name) {
  return role_from_name<OutputRole>(kOutputRoles, name);
}

Graph::Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

bool Graph::alive(NodeId id) const {
  return id.valid() && id.index < node_limit() && links_[static_cast<size_t>(id.index)].alive;
}

bool Graph::alive(ValueId id) const {
  return id.valid() && id.index < value_limit() && value_alive_[static_cast<size_t>(id.index)];
}

const Node& Graph::node(NodeId id) const {
  CHECK(alive(id), "node {}", id.index);
  return nodes_[static_cast<size_t>(id.index)];
}

Node& Graph::mutable_node(NodeId id) {
  CHECK(alive(id), "node {}", id.index);
  return nodes_[static_cast<size_t>(id.index)];
}

const Value& Graph::value(ValueId id) const {
  CHECK(alive(id), "value {}", id.index);
  return values_[static_cast<size_t>(id.index)];
}

Value& Graph::mutable_value(ValueId id) {
  CHECK(alive(id), "value {}", id.index);
  return values_[static_cast<size_t>(id.index)];
}

const Node* Graph::producer(ValueId id) const {
  const NodeId producer = value(id).producer;
  return producer.valid() ? &node(producer) : nullptr;
}

NodeId Graph::next(NodeId id) const {
  CHECK(alive(id), "node {}", id.index);
  return links_[static_cast<size_t>(id.index)].next;
}

NodeId Graph::previous(NodeId id) const {
  CHECK(alive(id), "node {}", id.index);
  return links_[static_cast<size_t>(id.index)].previous;
}

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> result;
  result.reserve(alive_nodes_);
  for (NodeId id = head_; id.valid(); id = links_[static_cast<size_t>(id.index)].next) result.push_back(id);
  return result;
}

const GraphInput* Graph::find_input(std::string_view input_name) const {
  for (const GraphInput& input : inputs_)
    if (input.name == input_name) return &input;
  return nullptr;
}

const GraphInput* Graph::input_of(ValueId id) const {
  const Value& v = value(id);
  return v.producer.valid() ? nullptr : &inputs_[static_cast<size_t>(v.output)];
}

bool Graph::is_output(ValueId id) const {
  CHECK(alive(id), "value {}", id.index);
  return external_uses_[static_cast<size_t>(id.index)] > 0;
}

bool Graph::accumulates() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const GraphInput& input) { return input.role == InputRole::accumulator; });
}

bool Graph::is_used(ValueId id) const { return !value(id).uses.empty() || is_output(id); }

ValueId Graph::add_input(Type type, InputRole role, std::string input_name, std::string initializer, bool trainable) {
  const ValueId id{value_limit()};
  values_.push_back(Value{std::move(type), kNoNode, static_cast<int32_t>(inputs_.size()), input_name, {}});
  value_alive_.push_back(true);
  external_uses_.push_back(0);
  inputs_.push_back(GraphInput{id, role, std::move(input_name), std::move(initializer), trainable, 0});
  return id;
}

void Graph::remove_input(ValueId id) {
  CHECK(!is_used(id) && !value(id).producer.valid(), "input {}", value(id).name);
  const auto position = static_cast<size_t>(value(id).output);
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(position));
  std::erase_if(states_, [&](const StatePair& state) { return state.input == id; });
  for (size_t i = position; i < inputs_.size(); ++i) mutable_value(inputs_[i].value).output = static_cast<int32_t>(i);
  value_alive_[static_cast<size_t>(id.index)] = false;
}

void Graph::add_output(ValueId id, OutputRole role, std::string output_name) {
  CHECK(alive(id), "output {}", output_name);
  outputs_.push_back(GraphOutput{id, role, std::move(output_name)});
  ++external_uses_[static_cast<size_t>(id.index)];
}

void Graph::remove_output(std::string_view output_name) {
  const auto position = std::find_if(outputs_.begin(), outputs_.end(),
                                     [&](const GraphOutput& output) { return output.name == output_name; });
  CHECK(position != outputs_.end(), "output {}", output_name);
  --external_uses_[static_cast<size_t>(position->value.index)];
  outputs_.erase(position);
}

void Graph::redirect_output(std::string_view output_name, ValueId id) {
  CHECK(alive(id), "output {}", output_name);
  const auto position = std::find_if(outputs_.begin(), outputs_.end(),
                                     [&](const GraphOutput& output) { return output.name == output_name; });
  CHECK(position != outputs_.end(), "output {}", output_name);
  --external_uses_[static_cast<size_t>(position->value.index)];
  ++external_uses_[static_cast<size_t>(id.index)];
  position->value = id;
}

void Graph::add_state(ValueId input, ValueId output) {
  CHECK(alive(output) && input_of(input) != nullptr && type(input) == type(output), "state of {}", value(input).name);
  states_.push_back(StatePair{input, output});
  ++external_uses_[static_cast<size_t>(output.index)];
}

void Graph::add_use(ValueId id, Use use) {
  if (id.valid()) mutable_value(id).uses.push_back(use);
}

void Graph::remove_use(ValueId id, Use use) {
  if (!id.valid()) return;
  std::vector<Use>& uses = mutable_value(id).uses;
  const auto position = std::find(uses.begin(), uses.end(), use);
  CHECK(position != uses.end(), "use list of value {}", id.index);
  *position = uses.back();
  uses.pop_back();
}

void Graph::link_before(NodeId id, NodeId before) {
  const NodeId previous = before.valid() ? links_[static_cast<size_t>(before.index)].previous : tail_;
  Link& link = links_[static_cast<size_t>(id.index)];
  link.previous = previous;
  link.next = before;
  (previous.valid() ? links_[static_cast<size_t>(previous.index)].next : head_) = id;
  (before.valid() ? links_[static_cast<size_t>(before.index)].previous : tail_) = id;
}

void Graph::unlink(NodeId id) {
  const Link link = links_[static_cast<size_t>(id.index)];
  (link.previous.valid() ? links_[static_cast<size_t>(link.previous.index)].next : head_) = link.next;
  (link.next.valid() ? links_[static_cast<size_t>(link.next.index)].previous : tail_) = link.previous;
}

NodeId Graph::insert(Node node, std::vector<Type> types, NodeId before) {
  CHECK(!types.empty(), "{} without outputs", op_name(node.op));
  CHECK(!before.valid() || alive(before), "insertion point {}", before.index);
  const NodeId id{node_limit()};
  for (size_t i = 0; i < node.inputs.size(); ++i) add_use(node.inputs[i], Use{id, static_cast<int32_t>(i)});
  node.outputs.clear();
  for (size_t i = 0; i < types.size(); ++i) {
    node.outputs.push_back(ValueId{value_limit()});
    values_.push_back(Value{std::move(types[i]), id, static_cast<int32_t>(i), {}, {}});
    value_alive_.push_back(true);
    external_uses_.push_back(0);
  }
  nodes_.push_back(std::move(node));
  links_.emplace_back();
  link_before(id, before);
  ++alive_nodes_;
  return id;
}

void Graph::erase(NodeId id) {
  Node& dead = mutable_node(id);
  for (const ValueId output : dead.outputs) CHECK(!is_used(output), "erasing {} with a use", op_name(dead.op));
  for (size_t i = 0; i < dead.inputs.size(); ++i) remove_use(dead.inputs[i], Use{id, static_cast<int32_t>(i)});
  for (const ValueId output : dead.outputs) value_alive_[static_cast<size_t>(output.index)] = false;
  unlink(id);
  links_[static_cast<size_t>(id.index)].alive = false;
  dead = Node{};
  --alive_nodes_;
}

void Graph::set_operand(NodeId id, size_t operand, ValueId value) {
  Node& n = mutable_node(id);
  CHECK(operand < n.inputs.size(), "operand {} of {}", operand, op_name(n.op));
  const Use use{id, static_cast<int32_t>(operand)};
  remove_use(n.inputs[operand], use);
  n.inputs[operand] = value;
  add_use(value, use);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  CHECK(type(from) == type(to), "{} for {}", to_string(type(to)), to_string(type(from)));
  if (from == to) return;
  const std::vector<Use> uses = value(from).uses;
  for (const Use& use : uses) set_operand(use.node, static_cast<size_t>(use.operand), to);
  if (!is_output(from)) return;
  for (GraphOutput& output : outputs_)
    if (output.value == from) output.value = to;
  for (StatePair& state : states_)
    if (state.output == from) state.output = to;
  external_uses_[static_cast<size_t>(to.index)] += external_uses_[static_cast<size_t>(from.index)];
  external_uses_[static_cast<size_t>(from.index)] = 0;
}

void Graph::move_before(NodeId id, NodeId before) {
  CHECK(alive(id) && id != before, "node {}", id.index);
  unlink(id);
  link_before(id, before);
}

Graph Graph::clone(std::vector<ValueId>* map) const {
  Graph copy;
  copy.name = name;
  std::vector<ValueId> ids(static_cast<size_t>(value_limit()));
  const auto mapped = [&](ValueId id) { return id.valid() ? ids[static_cast<size_t>(id.index)] : kNoValue; };
  for (const GraphInput& input : inputs_) {
    const ValueId id = copy.add_input(type(input.value), input.role, input.name, input.initializer, input.trainable);
    copy.inputs_.back().initial = input.initial;
    copy.set_name(id, value(input.value).name);
    ids[static_cast<size_t>(input.value.index)] = id;
  }
  for (NodeId id = head_; id.valid(); id = next(id)) {
    const Node& source = node(id);
    Node made{source.op, {}, {}, source.attrs, source.origin, nullptr, nullptr};
    for (const ValueId input : source.inputs) made.inputs.push_back(mapped(input));
    if (source.constant) made.constant = std::make_unique<Tensor>(*source.constant);
    if (source.body) made.body = std::make_unique<Graph>(source.body->clone());
    std::vector<Type> types;
    for (const ValueId output : source.outputs) types.push_back(type(output));
    const Node& inserted = copy.node(copy.insert(std::move(made), std::move(types)));
    for (size_t i = 0; i < source.outputs.size(); ++i) {
      ids[static_cast<size_t>(source.outputs[i].index)] = inserted.outputs[i];
      copy.set_name(inserted.outputs[i], value(source.outputs[i]).name);
    }
  }
  for (const GraphOutput& output : outputs_) copy.add_output(mapped(output.value), output.role, output.name);
  for (const StatePair& state : states_) copy.add_state(mapped(state.input), mapped(state.output));
  if (map != nullptr) *map = std::move(ids);
  return copy;
}

}  // namespace stepc
