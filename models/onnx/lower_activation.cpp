#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <array>

namespace stepc::onnx_import {
namespace {

template <Op op>
void unary(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.unary(op, l.in(0)));
}

// x where x > threshold, else `otherwise`
ValueId above(Builder& b, double threshold, ValueId x, ValueId otherwise) {
  return b.select(b.binary(Op::less, b.scalar_like(threshold, x), x), x, otherwise);
}

ValueId exp_minus_one(Builder& b, ValueId x) { return b.add(b.unary(Op::exp, x), -1); }

void gelu(Lowering& l, const OnnxNode& n) {
  const std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") refuse_attribute("approximate", approximate, "none, tanh");
  l.set(0, l.b.make(Op::gelu, {l.in(0)}, {{"approximate", approximate}}));
}

// x · sigmoid(alpha · x)
ValueId swish_of(Builder& b, ValueId x, double alpha) {
  return alpha == 1 ? b.unary(Op::silu, x) : b.mul(x, b.unary(Op::sigmoid, b.mul(x, alpha)));
}

void swish(Lowering& l, const OnnxNode& n) { l.set(0, swish_of(l.b, l.in(0), n.real("alpha", 1))); }

void swiglu(Lowering& l, const OnnxNode& n) {
  if (l.type(0) != l.type(1))
    user_error("operands {} and {} must have the same type", to_string(l.type(0)), to_string(l.type(1)));
  l.set(0, l.b.mul(swish_of(l.b, l.in(0), n.real("alpha", 1)), l.in(1)));
}

void leaky_relu(Lowering& l, const OnnxNode& n) {
  l.set(0, above(l.b, 0, l.in(0), l.b.mul(l.in(0), n.real("alpha", 0.01F))));
}

// The slope broadcasts to x.
void prelu(Lowering& l, const OnnxNode&) { l.set(0, above(l.b, 0, l.in(0), l.b.mul(l.in(0), l.in(1)))); }

void thresholded_relu(Lowering& l, const OnnxNode& n) {
  l.set(0, above(l.b, n.real("alpha", 1), l.in(0), l.b.scalar_like(0, l.in(0))));
}

// x, or alpha · (exp(x) − 1) below 0. The exponential sees no positive x, so that the gradient of the side not taken
// stays finite.
ValueId elu_of(Builder& b, ValueId x, double alpha) {
  const ValueId negative = b.binary(Op::minimum, x, b.scalar_like(0, x));
  return above(b, 0, x, b.mul(exp_minus_one(b, negative), alpha));
}

void elu(Lowering& l, const OnnxNode& n) { l.set(0, elu_of(l.b, l.in(0), n.real("alpha", 1))); }

// Defaults are the float32 numbers nearest to Klambauer et al. 2017: 1.6732632423543772, 1.0507009873554804.
void selu(Lowering& l, const OnnxNode& n) {
  l.set(0, l.b.mul(elu_of(l.b, l.in(0), n.real("alpha", 1.67326319217681884765625)),
                   n.real("gamma", 1.05070102214813232421875)));
}

// x, or alpha · (exp(x / alpha) − 1) below 0
void celu(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  const double alpha = n.real("alpha", 1);
  if (alpha == 0) refuse_attribute("alpha", "0", "any other number");
  const ValueId x = l.in(0);
  const ValueId scaled = b.div(b.binary(Op::minimum, x, b.scalar_like(0, x)), b.scalar_like(alpha, x));
  l.set(0, above(b, 0, x, b.mul(exp_minus_one(b, scaled), alpha)));
}

// max(0, min(1, alpha · x + beta))
ValueId hard_sigmoid_of(Builder& b, ValueId x, double alpha, double beta) {
  const ValueId line = b.add(b.mul(x, alpha), beta);
  return b.binary(Op::maximum, b.scalar_like(0, x), b.binary(Op::minimum, b.scalar_like(1, x), line));
}

void hard_sigmoid(Lowering& l, const OnnxNode& n) {
  l.set(0, hard_sigmoid_of(l.b, l.in(0), n.real("alpha", 0.2F), n.real("beta", 0.5)));
}

void hard_swish(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.mul(l.in(0), hard_sigmoid_of(l.b, l.in(0), 1.0 / 6, 0.5)));
}

void mish(Lowering& l, const OnnxNode&) {
  l.set(0, l.b.mul(l.in(0), l.b.unary(Op::tanh, l.b.unary(Op::softplus, l.in(0)))));
}

void softsign(Lowering& l, const OnnxNode&) { l.set(0, l.b.div(l.in(0), l.b.add(l.b.unary(Op::abs, l.in(0)), 1))); }

constexpr auto kRules = std::to_array<NamedRule>({
    {"Celu", celu},
    {"Elu", elu},
    {"Gelu", gelu},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", hard_swish},
    {"LeakyRelu", leaky_relu},
    {"Mish", mish},
    {"PRelu", prelu},
    {"Relu", unary<Op::relu>},
    {"Selu", selu},
    {"Sigmoid", unary<Op::sigmoid>},
    {"Softplus", unary<Op::softplus>},
    {"Softsign", softsign},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"Tanh", unary<Op::tanh>},
    {"ThresholdedRelu", thresholded_relu},
});

}  // namespace

RuleList activation_rules() { return kRules; }

}  // namespace stepc::onnx_import
