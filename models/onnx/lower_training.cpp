#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

// Optimizers of domain ai.onnx.preview.training: one step of many tensors at once. Operands: learning rate R, step T,
// then the tensors by kind: all X, all G (gradients), all of each kind of state. Results: all new X, then the new
// states.
namespace stepc::onnx_import {
namespace {

struct Step {
  ValueId rate, count;  // scalars
  Dtype dtype;
};

Step step_of(const Lowering& l) {
  return {l.b.reshape(l.in(0), Shape{}), l.b.reshape(l.in(1), Shape{}), l.type(0).dtype};
}

// How many tensors the node updates, with `kinds` operands for each.
size_t tensor_count(const Lowering& l, size_t kinds) {
  if (l.inputs() < 2 + kinds || (l.inputs() - 2) % kinds != 0)
    user_error("{} operands; expected R, T and {} for each tensor", l.inputs(), kinds);
  return (l.inputs() - 2) / kinds;
}

// norm_coefficient · x + g
ValueId regularized(const Lowering& l, const OnnxNode& n, ValueId x, ValueId g) {
  return l.b.add(l.b.mul(x, n.real("norm_coefficient", 0)), g);
}

// 1 − base^T
ValueId bias_correction(Builder& b, double base, const Step& step) {
  const ValueId power = b.binary(Op::pow, b.scalar(base, step.dtype), b.cast(step.count, step.dtype));
  return b.sub(b.scalar(1, step.dtype), power);
}

// R, or R · √(1 − β^T) / (1 − α^T) when T > 0. The correction is computed for T >= 1, so that no 0 / 0 arises.
ValueId adam_rate(Builder& b, const Step& step, double alpha, double beta) {
  const ValueId started = b.binary(Op::less, b.scalar_like(0, step.count), step.count);
  const Step at_least_one{step.rate, b.binary(Op::maximum, step.count, b.scalar_like(1, step.count)), step.dtype};
  const ValueId corrected = b.div(b.mul(step.rate, b.unary(Op::sqrt, bias_correction(b, beta, at_least_one))),
                                  bias_correction(b, alpha, at_least_one));
  return b.select(started, corrected, step.rate);
}

// V' = α V + (1 − α) G', H' = β H + (1 − β) G'², X' = (1 − post) (X − r V' / (√H' + ε))
void adam(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const double alpha = n.real("alpha", 0.9F);
  const double beta = n.real("beta", 0.999F);
  const double post = n.real("norm_coefficient_post", 0);
  const Step step = step_of(l);
  const size_t count = tensor_count(l, 4);
  const ValueId rate = adam_rate(b, step, alpha, beta);
  for (size_t i = 0; i < count; ++i) {
    const ValueId x = l.in(2 + i);
    const ValueId g = regularized(l, n, x, l.in(2 + count + i));
    const ValueId v = b.add(b.mul(l.in(2 + 2 * count + i), alpha), b.mul(g, 1 - alpha));
    const ValueId h = b.add(b.mul(l.in(2 + 3 * count + i), beta), b.mul(b.mul(g, g), 1 - beta));
    const ValueId root = b.add(b.unary(Op::sqrt, h), n.real("epsilon", 1e-6F));
    const ValueId updated = b.sub(x, b.mul(rate, b.div(v, root)));
    l.set(i, post == 0 ? updated : b.mul(updated, 1 - post));
    l.set(count + i, v);
    l.set(2 * count + i, h);
  }
}

// H' = H + G'², X' = X − R / (1 + T · decay) · G' / (√H' + ε)
void adagrad(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const Step step = step_of(l);
  const size_t count = tensor_count(l, 3);
  const ValueId decay = b.add(b.mul(b.cast(step.count, step.dtype), n.real("decay_factor", 0)), 1);
  const ValueId rate = b.div(step.rate, decay);
  for (size_t i = 0; i < count; ++i) {
    const ValueId x = l.in(2 + i);
    const ValueId g = regularized(l, n, x, l.in(2 + count + i));
    const ValueId h = b.add(l.in(2 + 2 * count + i), b.mul(g, g));
    const ValueId root = b.add(b.unary(Op::sqrt, h), n.real("epsilon", 1e-6F));
    l.set(i, b.sub(x, b.div(b.mul(rate, g), root)));
    l.set(count + i, h);
  }
}

// V' = α V + β' G', β' = β when T > 0, else 1; X' = X − R V', with Nesterov X − R (G' + α V')
void momentum(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const std::string mode = n.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") refuse_attribute("mode", mode, "standard, nesterov");
  const double alpha = n.real("alpha", 0);
  const Step step = step_of(l);
  const size_t count = tensor_count(l, 3);
  const ValueId started = b.binary(Op::less, b.scalar_like(0, step.count), step.count);
  const ValueId beta = b.select(started, b.scalar(n.real("beta", 0), step.dtype), b.scalar(1, step.dtype));
  for (size_t i = 0; i < count; ++i) {
    const ValueId x = l.in(2 + i);
    const ValueId g = regularized(l, n, x, l.in(2 + count + i));
    const ValueId v = b.add(b.mul(l.in(2 + 2 * count + i), alpha), b.mul(beta, g));
    const ValueId direction = mode == "nesterov" ? b.add(g, b.mul(v, alpha)) : v;
    l.set(i, b.sub(x, b.mul(step.rate, direction)));
    l.set(count + i, v);
  }
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"Adagrad", adagrad},
    {"Adam", adam},
    {"Momentum", momentum},
});

}  // namespace

RuleList training_rules() { return kRules; }

}  // namespace stepc::onnx_import
