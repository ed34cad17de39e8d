// loss: ends the forward graph in one scalar.
//
//   output logits %2                        %loss, _ = cross_entropy %2, %label {reduction="mean", ignore_index=-100}
//                                    ->     input label %label : i64[2,32] (role label)
//                                           loss %loss
//
// Kinds: cross-entropy of logits [.., classes] and labels [..]; mse against a target of the output's shape; mean, sum,
// mean-square of an output; output, the model's own scalar. With --accumulate N means are left as sums beside their
// count (passes/loss.h). Losses are f32 or wider. Outputs of the model go, unless they were asked for.

#include "passes/loss.h"

#include "ir/builder.h"
#include "ir/support/error.h"
#include "passes/pass.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace stepc {
namespace {

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::vector<GraphOutput> float_outputs(const Graph& graph) {
  std::vector<GraphOutput> outputs;
  for (const GraphOutput& output : graph.outputs())
    if (output.role == OutputRole::output && is_float(graph.dtype(output.value))) outputs.push_back(output);
  return outputs;
}

// Names with types: inputs or outputs to choose among.
template <typename Named>
std::string describe(const Graph& graph, const std::vector<Named>& choices) {
  std::vector<std::string> texts;
  for (const Named& choice : choices)
    texts.push_back(fmt::format("{} {}", choice.name, to_string(graph.type(choice.value))));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

// As many classes as some table has rows that integers index: the head of a language model.
bool is_vocabulary(const Graph& graph, int64_t classes) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op != Op::gather || node.attrs.integer("axis") != 0) continue;
    const GraphInput* table = graph.input_of(node.inputs[0]);
    if (table != nullptr && table->role == InputRole::weight && graph.shape(table->value)[0] == classes) return true;
  }
  return false;
}

bool looks_like_logits(const Graph& graph, const GraphOutput& output) {
  const Shape& shape = graph.shape(output.value);
  if (shape.rank() < 2) return false;
  return output.name.find("logits") != std::string::npos || is_vocabulary(graph, shape[shape.rank() - 1]);
}

std::vector<GraphInput> data_inputs(const Graph& graph) {
  std::vector<GraphInput> inputs;
  for (const GraphInput& input : graph.inputs())
    if (input.role == InputRole::data || input.role == InputRole::label) inputs.push_back(input);
  return inputs;
}

bool takes_labels(LossKind kind) { return kind == LossKind::cross_entropy || kind == LossKind::mse; }

// Options that would change nothing are a mistake of the caller's.
void refuse_options_without_effect(const LossOptions& options, LossKind kind) {
  const std::string_view name = loss_kind_name(kind);
  if (kind != LossKind::cross_entropy && options.shift)
    user_error("--shift has no effect on the loss {}: it goes with cross-entropy", name);
  if (!takes_labels(kind) && !options.labels.empty())
    user_error("--labels {} has no effect: the loss {} takes no labels", options.labels, name);
}

bool is_scalar(const Graph& graph, const GraphOutput& output) { return graph.shape(output.value).numel() == 1; }

// The kind, and the output that it is taken of.
struct Choice {
  LossKind kind;
  GraphOutput of;
};

Choice choose(const Graph& graph, const LossOptions& options) {
  const std::vector<GraphOutput> candidates = float_outputs(graph);
  const auto only = [&](auto&& fits) -> const GraphOutput* {
    const auto first = std::ranges::find_if(candidates, fits);
    return first == candidates.end() || std::any_of(first + 1, candidates.end(), fits) ? nullptr : &*first;
  };
  const auto scalar = [&](const GraphOutput& output) { return is_scalar(graph, output); };
  const auto logits = [&](const GraphOutput& output) { return looks_like_logits(graph, output); };
  const auto named = [&](const GraphOutput& output) { return output.name == options.logits; };
  const auto tensor = [&](const GraphOutput& output) { return !is_scalar(graph, output); };

  const bool automatic = options.kind == LossKind::automatic;
  if (!options.logits.empty()) {
    const GraphOutput* output = only(named);
    if (output == nullptr)
      user_error("--logits {}: no float output of that name; there are {}", options.logits,
                 describe(graph, candidates));
    const LossKind fitting = is_scalar(graph, *output) ? LossKind::output : LossKind::cross_entropy;
    return {automatic ? fitting : options.kind, *output};
  }
  if (automatic) {
    if (const GraphOutput* output = only(scalar)) return {LossKind::output, *output};
    if (const GraphOutput* output = only(logits)) return {LossKind::cross_entropy, *output};
    user_error("no output looks like logits or a loss; choose with --loss and --logits among: {}",
               describe(graph, candidates));
  }
  const GraphOutput* output = nullptr;
  if (options.kind == LossKind::output) output = only(scalar);
  if (options.kind == LossKind::cross_entropy) output = only(logits);
  if (output == nullptr && options.kind != LossKind::output) output = only(tensor);
  if (output == nullptr) output = candidates.size() == 1 ? &candidates[0] : nullptr;
  if (output == nullptr)
    user_error("--loss {}: which output is meant? choose with --logits among: {}", loss_kind_name(options.kind),
               describe(graph, candidates));
  return {options.kind, *output};
}

std::string label_name(const LossOptions& options) { return options.labels.empty() ? "label" : options.labels; }

LossOptions resolved(LossOptions options, const Choice& choice) {
  options.kind = choice.kind;
  options.logits = choice.of.name;
  options.labels = takes_labels(choice.kind) ? label_name(options) : "";
  return options;
}

class LossBuilder {
 public:
  LossBuilder(Graph& graph, const TrainOptions& options)
      : graph_(graph), options_(options), b_(graph, Origin{Phase::loss, {}, "loss"}) {}

  ValueId build(const Choice& choice) {
    const ValueId x = choice.of.value;
    refuse_options_without_effect(options_.loss, choice.kind);
    const bool averages = choice.kind != LossKind::sum && choice.kind != LossKind::output;
    if (averages && b_.shape(x).numel() == 0)
      user_error("the loss {} of '{}' {} is a mean of nothing; bind dimensions of at least 1 (--dim)",
                 loss_kind_name(choice.kind), choice.of.name, to_string(b_.type(x)));
    switch (choice.kind) {
      case LossKind::cross_entropy: return cross_entropy(x, choice.of.name);
      case LossKind::mse: {
        const ValueId error = b_.sub(wide(x), wide(label_input(b_.type(x))));
        return mean(b_.mul(error, error));
      }
      case LossKind::mean: return mean(wide(x));
      case LossKind::sum: return sum(wide(x));
      case LossKind::mean_square: return mean(b_.mul(wide(x), wide(x)));
      case LossKind::output: return own_scalar(x, choice.of.name);
      case LossKind::automatic: break;
    }
    CHECK(false, "loss kind");
    return kNoValue;
  }

 private:
  bool summed() const { return options_.accumulate > 1; }
  ValueId wide(ValueId x) { return b_.dtype(x) == Dtype::f64 ? x : b_.cast(x, Dtype::f32); }
  ValueId sum(ValueId x) { return b_.reduce_sum(x, all_axes(b_.shape(x)), /*keepdims=*/false); }

  ValueId mean(ValueId x) {
    const auto count = static_cast<double>(b_.shape(x).numel());
    if (!summed()) return b_.div(sum(x), b_.scalar_like(count, x));
    add_count(b_.scalar(count, Dtype::f32));
    return sum(x);
  }

  void add_count(ValueId count) { graph_.add_output(count, OutputRole::metric, std::string(kLossCount)); }

  // The model's input that --labels names; without it the input "label", which is made where the model has none.
  ValueId label_input(const Type& type) {
    const bool named = !options_.loss.labels.empty();
    const std::string name = label_name(options_.loss);
    const GraphInput* existing = graph_.find_input(name);
    if (named && (existing == nullptr || existing->role == InputRole::weight))
      user_error(
          "--labels {}: the model has no input of that name; there are {} (without --labels the step gets an "
          "input 'label')",
          name, describe(graph_, data_inputs(graph_)));
    if (existing == nullptr) return graph_.add_input(type, InputRole::label, name);
    const bool integer_labels = is_integer(type.dtype) && is_integer(graph_.dtype(existing->value));
    if (graph_.shape(existing->value) != type.shape || (graph_.dtype(existing->value) != type.dtype && !integer_labels))
      user_error("labels '{}' are {}, but the loss needs {}; name other labels with --labels", name,
                 to_string(graph_.type(existing->value)), to_string(type));
    return existing->value;
  }

  ValueId cross_entropy(ValueId logits, const std::string& name) {
    const Shape shape = b_.shape(logits);
    if (shape.rank() < (options_.loss.shift ? 2U : 1U))
      user_error("cross-entropy{} of '{}' {}: too few dimensions", options_.loss.shift ? " with --shift" : "", name,
                 to_string(shape));
    Dims label_dims(shape.begin(), shape.end() - 1);
    ValueId labels = label_input(Type{Dtype::i64, Shape(std::move(label_dims))});
    if (options_.loss.shift) {
      // Position t of [.., T, classes] predicts label t+1 of [.., T].
      const size_t axis = shape.rank() - 2;
      if (shape[axis] < 2) user_error("--shift: '{}' {} has no next position to predict", name, to_string(shape));
      logits = b_.slice_axis(logits, axis, 0, shape[axis] - 1);
      labels = b_.slice_axis(labels, axis, 1, shape[axis] - 1);
    }
    const int64_t ignore_index = options_.loss.ignore_index;
    if (summed()) {
      const ValueId ignored =
          b_.binary(Op::equal, labels, b_.scalar(static_cast<double>(ignore_index), b_.dtype(labels)));
      add_count(sum(b_.cast(b_.unary(Op::logical_not, ignored), Dtype::f32)));
    }
    return b_.make(Op::cross_entropy, {wide(logits), labels},
                   {{"reduction", std::string(summed() ? "sum" : "mean")}, {"ignore_index", ignore_index}});
  }

  ValueId own_scalar(ValueId x, const std::string& name) {
    if (b_.shape(x).numel() != 1) user_error("--loss output: '{}' is {}, not a scalar", name, to_string(b_.type(x)));
    if (summed()) add_count(b_.scalar(1, Dtype::f32));
    return b_.reshape(wide(x), Shape());
  }

  Graph& graph_;
  const TrainOptions& options_;
  Builder b_;
};

// Names that later passes give to inputs and outputs of the step.
void refuse_reserved_names(const Graph& graph) {
  constexpr std::string_view kPrefixes[] = {"accumulated/", "adam.",    "adamw.", "grad/", "grad_norm",
                                            "gradin/",      kLossCount, kLossSum, "sgd."};
  const auto check = [&](std::string_view what, const std::string& name) {
    for (const std::string_view prefix : kPrefixes)
      if (name.starts_with(prefix))
        user_error("{} '{}': names that start with '{}' belong to the training step; rename it", what, name, prefix);
  };
  for (const GraphInput& input : graph.inputs()) check("input", input.name);
  for (const GraphOutput& output : graph.outputs()) check("output", output.name);
}

bool run(Graph& graph, PassContext& context) {
  if (std::ranges::count(graph.outputs(), OutputRole::loss, &GraphOutput::role) > 0) return false;
  refuse_reserved_names(graph);
  const Choice choice = choose(graph, context.options.loss);
  const ValueId loss = LossBuilder(graph, context.options).build(choice);
  context.loss = resolved(context.options.loss, choice);
  context.note(
      fmt::format("{} of {} {}", loss_kind_name(choice.kind), choice.of.name, to_string(graph.type(choice.of.value))));

  std::vector<std::string> dropped;
  for (const GraphOutput& output : graph.outputs())
    if (output.role == OutputRole::output && !context.options.keep_outputs) dropped.push_back(output.name);
  for (const std::string& name : dropped) graph.remove_output(name);
  const bool summed = context.options.accumulate > 1;
  graph.add_output(loss, OutputRole::loss, std::string(summed ? kLossSum : loss_output_name(graph)));
  return true;
}

constexpr Fact kRefuses[] = {Fact::has_backward};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr Fact kProvides[] = {Fact::has_loss};

}  // namespace

std::string_view loss_output_name(const Graph& graph) {
  const auto taken = [](const GraphOutput& output) {
    return output.role == OutputRole::output && output.name == kLoss;
  };
  return std::ranges::any_of(graph.outputs(), taken) ? kLossBesideOutput : kLoss;
}

extern const Pass pass_loss;
const Pass pass_loss{
    .name = "loss",
    .summary = "ends the forward graph in one scalar (--loss)",
    .contract = {.refuses = kRefuses,
                 .breaks = kBreaks,
                 .provides = kProvides,
                 .preserves = Preserves::common_outputs,
                 .required = true},
    .run = run,
};

}  // namespace stepc
