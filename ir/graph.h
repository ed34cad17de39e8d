#pragma once

#include "ir/attrs.h"
#include "ir/op.h"
#include "ir/phase.h"
#include "ir/tensor.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepc {

struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};

struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};

constexpr ValueId kNoValue{};  // an omitted optional operand
constexpr NodeId kNoNode{};

class Graph;

// Where a node stems from. It survives every pass and ends up in kernel names, reports and traces.
struct Origin {
  Phase phase = Phase::forward;
  std::vector<std::string> onnx;  // names of the ONNX nodes, sorted, without duplicates
  std::string scope;              // "blocks.3.attn"
  bool operator==(const Origin&) const = default;
};

struct Node {
  Op op{};
  std::vector<ValueId> inputs;   // kNoValue where an optional operand is omitted
  std::vector<ValueId> outputs;  // at least one; SSA: each value has exactly one producer
  Attrs attrs;                   // complete: defaults are filled in at insertion
  Origin origin;
  std::unique_ptr<Tensor> constant;  // the payload of Op::constant, else null
  std::unique_ptr<Graph> body;       // the body of Op::fused, else null
};

// One operand position that reads a value.
struct Use {
  NodeId node;
  int32_t operand = 0;
  bool operator==(const Use&) const = default;
};

struct Value {
  Type type;
  NodeId producer;        // kNoNode for a graph input
  int32_t output = 0;     // which output of the producer, or which input of the graph
  std::string name;       // a hint for text and reports (the ONNX value name); may be empty, need not be unique
  std::vector<Use> uses;  // in no particular order; graph outputs and states are not in it
};

// What a graph input is. Weights (trainable or frozen), states and accumulators persist between steps; data and labels
// are given anew. A graph with accumulators is two programs in one list: the micro-step, every node before phase
// optimizer, runs once per micro-batch; the update, the nodes of phase optimizer, runs once after the last of them.
// Accumulators are zeroed before the first micro-step. The order of execution and fusion keep the two apart.
enum class InputRole : uint8_t { data, label, weight, state, accumulator };

std::string_view input_role_name(InputRole role);
std::optional<InputRole> input_role_from_name(std::string_view name);

struct GraphInput {
  ValueId value;
  InputRole role = InputRole::data;
  std::string name;  // unique in the graph: how users and files call it (weight: its recovered name)
  // weight: the ONNX initializer's name in the file; state: the weight (its name here) that it is a copy of, rounded to
  // its own dtype, from the first step on; else empty
  std::string initializer;
  bool trainable = false;  // weight only
  double initial = 0;      // state that is no copy: every element at the first step
};

// What a graph output is. `gradient` outputs exist with `--optimizer none`.
enum class OutputRole : uint8_t { output, loss, gradient, metric };

std::string_view output_role_name(OutputRole role);
std::optional<OutputRole> output_role_from_name(std::string_view name);

struct GraphOutput {
  ValueId value;
  OutputRole role = OutputRole::output;
  std::string name;  // unique in the graph
};

// A weight, moment, counter, ...: `output` is what `input` becomes at the end of the step. Both share one block, so no
// node may read `input` after `output` was written (the verifier checks it on scheduled graphs).
struct StatePair {
  ValueId input;
  ValueId output;
};

// SSA, static shapes, one flat list of nodes in topological order.
//
// Ids are dense and stable: erasing leaves a hole, `clone()` closes them. Node and value references stay valid while
// the graph lives (they are stored in deques). Order is a doubly linked list, so insertion and removal are O(1).
// Nodes are made by ir/builder.h, which infers types; `insert` is its lower half.
class Graph {
 public:
  Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  std::string name;

  // --- reading
  const Node& node(NodeId id) const;
  const Value& value(ValueId id) const;
  const Type& type(ValueId id) const { return value(id).type; }
  const Shape& shape(ValueId id) const { return value(id).type.shape; }
  Dtype dtype(ValueId id) const { return value(id).type.dtype; }
  // The producing node, or null for a graph input.
  const Node* producer(ValueId id) const;
  bool alive(NodeId id) const;
  bool alive(ValueId id) const;
  size_t node_count() const { return alive_nodes_; }
  int32_t node_limit() const { return static_cast<int32_t>(nodes_.size()); }    // ids are below it
  int32_t value_limit() const { return static_cast<int32_t>(values_.size()); }  // ids are below it

  NodeId first() const { return head_; }
  NodeId last() const { return tail_; }
  NodeId next(NodeId id) const;  // kNoNode after the last
  NodeId previous(NodeId id) const;
  std::vector<NodeId> order() const;  // a snapshot: the graph may change while it is walked

  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const std::vector<StatePair>& states() const { return states_; }
  const GraphInput* find_input(std::string_view input_name) const;
  const GraphInput* input_of(ValueId id) const;  // null unless id is a graph input
  // Uses by nodes, outputs and states together.
  bool is_used(ValueId id) const;
  bool is_output(ValueId id) const;  // graph output or state output
  bool accumulates() const;          // has an input of role accumulator

  // --- changing
  ValueId add_input(Type type, InputRole role, std::string input_name, std::string initializer = {},
                    bool trainable = false);
  GraphInput& mutable_input(size_t index) { return inputs_[index]; }
  void remove_input(ValueId id);  // must be unused
  void add_output(ValueId id, OutputRole role, std::string output_name);
  void remove_output(std::string_view output_name);
  void redirect_output(std::string_view output_name,
                       ValueId id);  // another value under the same name, role and position
  void add_state(ValueId input, ValueId output);
  void clear_states() { states_.clear(); }

  // Inserts before `before` (at the end when kNoNode). `types` are the output types. Operands must be alive.
  NodeId insert(Node node, std::vector<Type> types, NodeId before = kNoNode);
  void erase(NodeId id);  // its outputs must be unused
  void set_operand(NodeId id, size_t operand, ValueId value);
  // Every reader of `from` (nodes, outputs, state outputs) reads `to` afterwards. Types must be equal.
  void replace_uses(ValueId from, ValueId to);
  void move_before(NodeId id, NodeId before);  // to the end when kNoNode
  void set_name(ValueId id, std::string value_name) { mutable_value(id).name = std::move(value_name); }
  Origin& origin(NodeId id) { return mutable_node(id).origin; }
  void set_attr(NodeId id, std::string_view key, AttrValue value) { mutable_node(id).attrs.set(key, std::move(value)); }

  // A deep copy with dense ids in list order. Where `map` is given it receives old value index → new id (kNoValue for
  // holes).
  Graph clone(std::vector<ValueId>* map = nullptr) const;

 private:
  struct Link {
    NodeId previous, next;
    bool alive = true;
  };

  Node& mutable_node(NodeId id);
  Value& mutable_value(ValueId id);
  void link_before(NodeId id, NodeId before);
  void unlink(NodeId id);
  void add_use(ValueId id, Use use);
  void remove_use(ValueId id, Use use);

  std::deque<Node> nodes_;
  std::vector<Link> links_;
  std::deque<Value> values_;
  std::vector<bool> value_alive_;
  std::vector<int32_t> external_uses_;  // per value: graph outputs and state outputs that name it
  NodeId head_, tail_;
  size_t alive_nodes_ = 0;
  std::vector<GraphInput> inputs_;
  std::vector<GraphOutput> outputs_;
  std::vector<StatePair> states_;
};

}  // namespace stepc
