#include "ir/interpreter.h"

#include "ir/op_def.h"
#include "ir/origin_name.h"
#include "ir/support/error.h"

namespace stepc {
namespace {

// One run: the values alive, each with the number of reads that are left.
class Run {
 public:
  Run(const Graph& graph, bool round_floats)
      : graph_(graph),
        round_floats_(round_floats),
        values_(static_cast<size_t>(graph.value_limit())),
        reads_(static_cast<size_t>(graph.value_limit()), 0) {
    for (int32_t v = 0; v < graph.value_limit(); ++v)
      if (graph.alive(ValueId{v})) reads_[static_cast<size_t>(v)] = graph.value(ValueId{v}).uses.size();
    for (const GraphOutput& output : graph.outputs()) keep(output.value);
    for (const StatePair& state : graph.states()) keep(state.output);
  }

  void keep(ValueId id) { ++reads_[index(id)]; }
  // The tensor must outlive the run.
  void bind(ValueId id, const RefTensor& tensor) { values_[index(id)].bound = &tensor; }
  const RefTensor& value(ValueId id) const {
    const Slot& slot = values_[index(id)];
    return slot.bound != nullptr ? *slot.bound : slot.own;
  }

  void execute() {
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) execute(graph_.node(id));
  }

 private:
  struct Slot {
    const RefTensor* bound = nullptr;  // a graph input's tensor, which the caller owns
    RefTensor own;
  };

  static size_t index(ValueId id) { return static_cast<size_t>(id.index); }

  void execute(const Node& node) {
    std::vector<const RefTensor*> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? &value(input) : nullptr);
    std::vector<RefTensor> outputs;
    for (const ValueId output : node.outputs) outputs.emplace_back(graph_.type(output));
    evaluate(EvalArgs{node, inputs, outputs, round_floats_});
    for (size_t i = 0; i < outputs.size(); ++i)
      if (reads_[index(node.outputs[i])] > 0) values_[index(node.outputs[i])].own = std::move(outputs[i]);
    for (const ValueId input : node.inputs)
      if (input.valid() && --reads_[index(input)] == 0) values_[index(input)] = Slot{};
  }

  // What goes wrong inside a fused node is said of the node in its body.
  static void evaluate(const EvalArgs& args) {
    try {
      evaluate_node(args);
    } catch (const UserError& error) {
      if (args.node.op == Op::fused) throw;
      user_error("node '{}' ({}): {}", origin_name(args.node.origin), op_name(args.node.op), error.what());
    }
  }

  const Graph& graph_;
  bool round_floats_;
  std::vector<Slot> values_;   // per value index
  std::vector<size_t> reads_;  // per value index
};

// The graph's inputs in their order, checked.
std::vector<const RefTensor*> checked_inputs(const Graph& graph, const std::map<std::string, RefTensor>& inputs) {
  std::vector<const RefTensor*> result;
  for (const GraphInput& input : graph.inputs()) {
    const auto position = inputs.find(input.name);
    if (position == inputs.end())
      user_error("input \"{}\" of {} is not given", input.name, to_string(graph.type(input.value)));
    if (position->second.type != graph.type(input.value))
      user_error("input \"{}\" is {}, the graph takes {}", input.name, to_string(position->second.type),
                 to_string(graph.type(input.value)));
    result.push_back(&position->second);
  }
  for (const auto& [name, tensor] : inputs)
    if (graph.find_input(name) == nullptr) user_error("the graph has no input \"{}\"", name);
  return result;
}

}  // namespace

Interpretation interpret(const Graph& graph, const std::map<std::string, RefTensor>& inputs, RefPrecision precision,
                         std::span<const ValueId> wanted) {
  const bool round_floats = precision == RefPrecision::f32;
  const std::vector<const RefTensor*> operands = checked_inputs(graph, inputs);
  std::vector<RefTensor> rounded(operands.size());
  Run run(graph, round_floats);
  for (const ValueId id : wanted) run.keep(id);
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool exact = !round_floats || !operands[i]->is_real() || operands[i]->type.dtype == Dtype::f64;
    if (!exact) {
      rounded[i] = *operands[i];
      rounded[i].round_to_dtype();
    }
    run.bind(graph.inputs()[i].value, exact ? *operands[i] : rounded[i]);
  }
  run.execute();
  Interpretation result;
  for (const GraphOutput& output : graph.outputs()) result.outputs.emplace(output.name, run.value(output.value));
  for (const StatePair& state : graph.states())
    result.states.emplace(graph.input_of(state.input)->name, run.value(state.output));
  for (const ValueId id : wanted) result.values.emplace(id, run.value(id));
  return result;
}

std::vector<RefTensor> run_body(const Graph& body, std::span<const RefTensor* const> operands, bool round_floats) {
  Run run(body, round_floats);
  for (size_t i = 0; i < operands.size(); ++i) run.bind(body.inputs()[i].value, *operands[i]);
  run.execute();
  std::vector<RefTensor> results;
  for (const GraphOutput& output : body.outputs()) results.push_back(run.value(output.value));
  return results;
}

}  // namespace stepc
