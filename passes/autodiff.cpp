// autodiff: appends the gradient of the loss.
//
//   %2 = tanh %1 : f32[4]                          %2 = tanh %1 : f32[4]                  forward
//   %3 = reduce_sum %2 {axes=[0]} : f32[]    ->    %3 = reduce_sum %2 {axes=[0]} : f32[]  loss
//   loss %3                                        %5 = expand (1) : f32[4]               backward
//                                                  %6 = %5 * (1 - %2 * %2)                backward
//                                                  loss %3, gradient grad/w = %6
//
// Reverse sweep over the list, which is a topological order: when a node's turn comes, every contribution to its
// results' gradients has been added, in the order of the sweep. Only values between a differentiated input and the loss
// take part, and only floats: integers and booleans stop the gradient. (Griewank and Walther, Evaluating Derivatives,
// 2008, ch. 3.)

#include "passes/autodiff.h"

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/loss.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace stepc {
namespace {

// An input to differentiate, and the output that its gradient becomes.
struct Target {
  ValueId input;
  std::string output_name;
};

bool is_trained(const GraphInput& input) { return input.role == InputRole::weight && input.trainable; }

bool is_float_data(const Graph& graph, const GraphInput& input) {
  return input.role == InputRole::data && is_float(graph.dtype(input.value));
}

// The glob of data inputs to differentiate.
std::string input_pattern(const Graph& graph, const TrainOptions& options) {
  return options.grad_inputs.value_or(std::ranges::any_of(graph.inputs(), is_trained) ? "" : "*");
}

std::vector<Target> targets_of(const Graph& graph, const TrainOptions& options) {
  std::vector<Target> targets;
  for (const GraphInput& input : graph.inputs())
    if (is_trained(input))
      targets.push_back({input.value, "grad/" + (input.initializer.empty() ? input.name : input.initializer)});
  const std::string pattern = input_pattern(graph, options);
  const bool needs_match = targets.empty() || (!pattern.empty() && pattern != "*");
  const size_t weights = targets.size();
  std::vector<std::string> candidates;
  for (const GraphInput& input : graph.inputs()) {
    if (!is_float_data(graph, input)) continue;
    candidates.push_back(input.name);
    if (glob_match(pattern, input.name)) targets.push_back({input.value, "gradin/" + input.name});
  }
  if (needs_match && targets.size() == weights)
    user_error("{}no float input matches '{}' (float inputs: {})",
               targets.empty() ? "nothing to differentiate: no trainable weight, and " : "--grad-inputs: ", pattern,
               candidates.empty() ? "none" : fmt::format("{}", fmt::join(candidates, ", ")));
  return targets;
}

ValueId loss_of(const Graph& graph) {
  const auto loss = std::ranges::find(graph.outputs(), OutputRole::loss, &GraphOutput::role);
  CHECK(loss != graph.outputs().end(), "autodiff of a graph without a loss");
  if (!is_float(graph.dtype(loss->value)) || graph.shape(loss->value).numel() != 1)
    user_error("the loss '{}' is {}; a loss is one float", loss->name, to_string(graph.type(loss->value)));
  return loss->value;
}

std::string describe(const Graph& graph, const Node& node) {
  if (!node.origin.onnx.empty()) return fmt::format("{} ({})", fmt::join(node.origin.onnx, "+"), op_name(node.op));
  const std::string& name = graph.value(node.outputs[0]).name;
  return name.empty() ? fmt::format("%{} ({})", node.outputs[0].index, op_name(node.op))
                      : fmt::format("{} ({})", name, op_name(node.op));
}

class ReverseSweep {
 public:
  // `scale`: the gradient of the loss; kNoValue: 1.
  ReverseSweep(Graph& graph, ValueId loss, ValueId scale, std::vector<bool> active, const VjpListener& listener)
      : graph_(graph),
        builder_(graph, Origin{Phase::backward, {}, {}}),
        listener_(listener),
        order_(graph.order()),
        active_(std::move(active)),
        gradients_(static_cast<size_t>(graph.value_limit())) {
    refuse_missing_rules(loss);
    run(loss, scale);
  }

  // kNoValue where no path leads from the value to the loss.
  ValueId gradient(ValueId value) const { return gradients_[static_cast<size_t>(value.index)]; }

 private:
  bool active(ValueId value) const { return value.valid() && active_[static_cast<size_t>(value.index)]; }

  // Lists every node that the gradient must cross and cannot.
  void refuse_missing_rules(ValueId loss) const {
    std::vector<bool> reaches_loss(active_.size());
    reaches_loss[static_cast<size_t>(loss.index)] = true;
    std::vector<std::string> refused;
    for (size_t i = order_.size(); i-- > 0;) {
      const Node& node = graph_.node(order_[i]);
      const bool crossed = std::ranges::any_of(node.outputs, [&](ValueId output) {
        return active(output) && reaches_loss[static_cast<size_t>(output.index)];
      });
      if (!crossed) continue;
      if (op_def(node.op).vjp == nullptr) refused.push_back(describe(graph_, node));
      for (const ValueId input : node.inputs)
        if (active(input)) reaches_loss[static_cast<size_t>(input.index)] = true;
    }
    std::ranges::reverse(refused);
    if (!refused.empty())
      user_error("no derivative for {} operation{} between the loss and what is trained: {}", refused.size(),
                 refused.size() == 1 ? "" : "s", fmt::join(refused, ", "));
  }

  void run(ValueId loss, ValueId scale) {
    if (!active(loss)) return;
    const NodeId producer = graph_.value(loss).producer;
    if (producer.valid()) set_origin(graph_.node(producer));
    const Type& type = graph_.type(loss);
    accumulate(loss,
               scale.valid() ? builder_.expand(builder_.cast(scale, type.dtype), type.shape) : builder_.full(1, type));
    for (size_t i = order_.size(); i-- > 0;) differentiate_node(order_[i]);
  }

  void set_origin(const Node& node) {
    builder_.set_origin(Origin{Phase::backward, node.origin.onnx, node.origin.scope});
  }

  void differentiate_node(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueId> output_gradients;
    for (const ValueId output : node.outputs) output_gradients.push_back(active(output) ? gradient(output) : kNoValue);
    if (std::ranges::none_of(output_gradients, &ValueId::valid)) return;
    set_origin(node);
    const size_t operands = node.inputs.size();
    const auto needed = std::make_unique<bool[]>(operands);
    if (listener_ == nullptr) {
      for (size_t i = 0; i < operands; ++i) needed[i] = active(node.inputs[i]);
      apply_vjp(id, output_gradients, {needed.get(), operands});
      return;
    }
    for (size_t i = 0; i < operands; ++i) {
      if (!active(node.inputs[i])) continue;
      needed[i] = true;
      const int32_t limit = graph_.node_limit();
      const ValueId operand_gradient = apply_vjp(id, output_gradients, {needed.get(), operands})[i];
      if (operand_gradient.valid()) listener_(id, operand_gradient, limit);
      needed[i] = false;
    }
  }

  std::vector<ValueId> apply_vjp(NodeId id, std::span<const ValueId> output_gradients, std::span<const bool> needed) {
    const Node& node = graph_.node(id);
    VjpArgs args(builder_, id, output_gradients, needed);
    op_def(node.op).vjp(args);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (needed[i] && args.gradients()[i].valid()) accumulate(node.inputs[i], args.gradients()[i]);
    return args.gradients();
  }

  void accumulate(ValueId value, ValueId contribution) {
    ValueId& total = gradients_[static_cast<size_t>(value.index)];
    total = total.valid() ? builder_.add(total, contribution) : contribution;
  }

  Graph& graph_;
  Builder builder_;
  const VjpListener& listener_;
  std::vector<NodeId> order_;
  std::vector<bool> active_;  // differentiated_values
  std::vector<ValueId> gradients_;
};

// The state that the loss is multiplied by in fp16, before the first gradient is (see unscale).
ValueId add_loss_scale(Graph& graph, const TrainOptions& options) {
  if (options.precision != Precision::fp16) return kNoValue;
  const ValueId scale = graph.add_input(Type{Dtype::f32, {}}, InputRole::state, std::string(kLossScale));
  graph.mutable_input(graph.inputs().size() - 1).initial = options.loss_scale.init;
  return scale;
}

// VJPs may build what no target asks for.
void erase_dead(Graph& graph, int32_t first_new) {
  for (NodeId id = graph.last(); id.valid();) {
    const NodeId previous = graph.previous(id);
    if (id.index >= first_new &&
        std::ranges::none_of(graph.node(id).outputs, [&](ValueId output) { return graph.is_used(output); }))
      graph.erase(id);
    id = previous;
  }
}

bool run(Graph& graph, PassContext& context) {
  differentiate(graph, context);
  return true;
}

constexpr Fact kNeeds[] = {Fact::has_loss};
constexpr Fact kRefuses[] = {Fact::has_backward, Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr Fact kProvides[] = {Fact::has_backward};
constexpr std::string_view kForbidsAfter[] = {"loss", "raise-aten"};

}  // namespace

std::vector<bool> differentiated_values(const Graph& graph, const TrainOptions& options) {
  std::vector<bool> active(static_cast<size_t>(graph.value_limit()));
  const auto at = [&](ValueId value) -> std::vector<bool>::reference {
    return active[static_cast<size_t>(value.index)];
  };
  const std::string pattern = input_pattern(graph, options);
  for (const GraphInput& input : graph.inputs())
    if (is_trained(input) || (is_float_data(graph, input) && glob_match(pattern, input.name))) at(input.value) = true;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (std::ranges::none_of(node.inputs, [&](ValueId input) { return input.valid() && at(input); })) continue;
    for (const ValueId output : node.outputs) at(output) = is_float(graph.dtype(output));
  }
  return active;
}

void differentiate(Graph& graph, PassContext& context, const VjpListener& listener) {
  const std::vector<Target> targets = targets_of(graph, context.options);
  const int32_t first_new = graph.node_limit();
  const std::vector<bool> active = differentiated_values(graph, context.options);
  const ReverseSweep sweep(graph, loss_of(graph), add_loss_scale(graph, context.options), active, listener);
  std::vector<std::string> unreached;
  for (const Target& target : targets) {
    if (const ValueId gradient = sweep.gradient(target.input); gradient.valid())
      graph.add_output(gradient, OutputRole::gradient, target.output_name);
    else
      unreached.push_back(graph.input_of(target.input)->name);
  }
  if (unreached.size() == targets.size())
    user_error("the loss depends on nothing that is trained: no path from {}", fmt::join(unreached, ", "));
  if (!unreached.empty()) context.note(fmt::format("no gradient, no path to the loss: {}", fmt::join(unreached, ", ")));
  erase_dead(graph, first_new);
}

extern const Pass pass_autodiff;
const Pass pass_autodiff{
    .name = "autodiff",
    .summary = "appends the gradient of the loss for trainable weights and chosen inputs",
    .contract = {.needs = kNeeds,
                 .refuses = kRefuses,
                 .breaks = kBreaks,
                 .provides = kProvides,
                 .forbids_after = kForbidsAfter,
                 .preserves = Preserves::common_outputs,
                 .required = true},
    .run = run,
};

}  // namespace stepc
