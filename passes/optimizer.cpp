// optimizer: consumes the gradients of trainable weights and updates the weights, with the formulas of torch.optim.
//
//   sgd     g += λ·p;  b = μ·b + g (μ = 0: b = g);  p -= lr·b
//   adam    g += λ·p;  m, v, t as below;            p -= lr/(1-β1ᵗ) · m / (√v/√(1-β2ᵗ) + ε)
//   adamw   p *= 1-lr·λ, then adam without λ·p
//           m += (g-m)·(1-β1);  v = v·β2 + g²·(1-β2);  t += 1
//
// States start at zero, t included (so that sgd's first b is g, as in PyTorch). Moments are f32 or wider, whatever the
// weight's dtype. 1-βᵗ is taken in f64: in f32 1-0.999 has lost four digits. With dynamic loss scaling (unscale) a
// skipped step changes none of them. (Kingma and Ba, 2015; Loshchilov and Hutter, 2019.)

#include "ir/builder.h"
#include "ir/support/error.h"
#include "passes/loss.h"
#include "passes/pass.h"

#include <vector>

namespace stepc {
namespace {

// A trainable weight with its gradient output.
struct Parameter {
  ValueId weight;
  std::string name;
  GraphOutput gradient;
};

std::vector<Parameter> parameters_of(const Graph& graph) {
  std::vector<Parameter> parameters;
  for (const GraphInput& input : graph.inputs()) {
    if (input.role != InputRole::weight || !input.trainable) continue;
    const std::string gradient_name = "grad/" + (input.initializer.empty() ? input.name : input.initializer);
    for (const GraphOutput& output : graph.outputs())
      if (output.role == OutputRole::gradient && output.name == gradient_name)
        parameters.push_back({input.value, input.name, output});
  }
  return parameters;
}

// "blocks.3.attn" of "blocks.3.attn.wq.weight": as deep as the forward's own scopes.
std::string scope_of(std::string_view parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string_view::npos ? std::string() : std::string(parameter.substr(0, dot));
}

class Optimizer {
 public:
  Optimizer(Graph& graph, const OptimizerOptions& options)
      : graph_(graph), options_(options), b_(graph, Origin{Phase::optimizer, {}, {}}) {
    for (const GraphOutput& output : graph.outputs())
      if (output.name == kSkipped && output.role == OutputRole::metric) skipped_ = output.value;
  }

  void update_all(std::span<const Parameter> parameters) {
    if (options_.kind != OptimizerKind::sgd) count_step();
    for (const Parameter& parameter : parameters) {
      b_.set_origin(Origin{Phase::optimizer, {}, scope_of(parameter.name)});
      const Dtype stored = b_.dtype(parameter.weight);
      const Dtype computed = stored == Dtype::f64 ? Dtype::f64 : Dtype::f32;
      const ValueId p = b_.cast(parameter.weight, computed);
      const ValueId g = kept_gradient(b_.cast(parameter.gradient.value, computed));
      const ValueId updated = options_.kind == OptimizerKind::sgd ? sgd(parameter, p, g) : adam(parameter, p, g);
      update(parameter.weight, b_.cast(updated, stored));
      graph_.remove_output(parameter.gradient.name);
    }
  }

 private:
  // In a skipped step 0: nothing of the update, whose results are dropped then, can be made before it is known.
  ValueId kept_gradient(ValueId g) { return skipped_.valid() ? b_.select(skipped_, b_.scalar_like(0, g), g) : g; }

  // What a weight or state becomes: what it was where the step is skipped.
  void update(ValueId old, ValueId updated) {
    graph_.add_state(old, skipped_.valid() ? b_.select(skipped_, old, updated) : updated);
  }

  std::string state_name(std::string_view what) const {
    return fmt::format("{}.{}", optimizer_kind_name(options_.kind), what);
  }

  ValueId add_state_input(Type type, std::string_view what, std::string_view parameter) {
    return graph_.add_input(std::move(type), InputRole::state, state_name(what) + "/" + std::string(parameter));
  }

  // t, lr/(1-β1ᵗ) and √(1-β2ᵗ), shared by all parameters.
  void count_step() {
    const ValueId old_step = graph_.add_input(Type{Dtype::i64, {}}, InputRole::state, state_name("step"));
    const ValueId step = b_.add(old_step, 1);
    update(old_step, step);
    const ValueId t = b_.cast(step, Dtype::f64);
    const auto correction = [&](double beta) {
      return b_.sub(b_.scalar(1, Dtype::f64), b_.binary(Op::pow, b_.scalar(beta, Dtype::f64), t));
    };
    step_size_ = b_.div(b_.scalar(options_.lr, Dtype::f64), correction(options_.beta1));
    root_correction_ = b_.unary(Op::sqrt, correction(options_.beta2));
  }

  ValueId with_l2(ValueId p, ValueId g) {
    return options_.weight_decay == 0 ? g : b_.add(g, b_.mul(p, options_.weight_decay));
  }

  ValueId sgd(const Parameter& parameter, ValueId p, ValueId g) {
    ValueId direction = with_l2(p, g);
    if (options_.momentum != 0) {
      const ValueId buffer = add_state_input(b_.type(p), "momentum", parameter.name);
      direction = b_.add(b_.mul(buffer, options_.momentum), direction);
      update(buffer, direction);
    }
    return b_.sub(p, b_.mul(direction, options_.lr));
  }

  ValueId adam(const Parameter& parameter, ValueId p, ValueId g) {
    if (options_.kind == OptimizerKind::adam) g = with_l2(p, g);
    const ValueId old_m = add_state_input(b_.type(p), "m", parameter.name);
    const ValueId old_v = add_state_input(b_.type(p), "v", parameter.name);
    const ValueId m = b_.add(old_m, b_.mul(b_.sub(g, old_m), 1 - options_.beta1));
    const ValueId v = b_.add(b_.mul(old_v, options_.beta2), b_.mul(b_.mul(g, g), 1 - options_.beta2));
    update(old_m, m);
    update(old_v, v);
    const ValueId root = b_.div(b_.unary(Op::sqrt, v), b_.cast(root_correction_, b_.dtype(p)));
    const ValueId direction = b_.div(m, b_.add(root, options_.eps));
    const bool decoupled = options_.kind == OptimizerKind::adamw && options_.weight_decay != 0;
    const ValueId decayed = decoupled ? b_.mul(p, 1 - options_.lr * options_.weight_decay) : p;
    return b_.sub(decayed, b_.mul(direction, b_.cast(step_size_, b_.dtype(p))));
  }

  Graph& graph_;
  const OptimizerOptions& options_;
  Builder b_;
  ValueId skipped_;          // bool, kNoValue where no step is
  ValueId step_size_;        // f64
  ValueId root_correction_;  // f64
};

bool run(Graph& graph, PassContext& context) {
  if (context.options.optimizer.kind == OptimizerKind::none) return false;
  const std::vector<Parameter> parameters = parameters_of(graph);
  if (parameters.empty()) {
    context.note("nothing to update: no trainable weight has a gradient");
    return false;
  }
  Optimizer(graph, context.options.optimizer).update_all(parameters);
  return true;
}

constexpr Fact kNeeds[] = {Fact::has_backward};
constexpr Fact kRefuses[] = {Fact::has_optimizer, Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr Fact kProvides[] = {Fact::has_optimizer};
constexpr std::string_view kForbidsAfter[] = {"accumulate", "clip", "autodiff"};

}  // namespace

extern const Pass pass_optimizer;
const Pass pass_optimizer{
    .name = "optimizer",
    .summary = "turns gradients into updates of weights and optimizer state (adamw, adam, sgd)",
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
