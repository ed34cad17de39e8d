#include "ir/ops/rows.h"

#include <cmath>

namespace stepc {

namespace {

// layer_norm(x, scale?, bias?) → y, mean, rstd. Over the N elements of a row (`axis` and all axes after it):
// mean = Σx / N, rstd = (Σ(x − mean)² / N + epsilon)^(-1/2), x̂ = (x − mean)·rstd, y = x̂·scale + bias.

std::vector<Type> infer(const InferArgs& args) { return infer_norm(args, 2); }

// rstd·(g − mean(g) − x̂·mean(g·x̂)), g = dy·scale
ValueId gradient_through_y(VjpArgs& args, ValueId x_hat, ValueId dy) {
  Builder& b = args.b;
  const size_t axis = axis_of(args.node());
  const ValueId g = args.has(1) ? b.mul(dy, to_statistics(b, args.in(1))) : dy;
  const ValueId centred = b.sub(g, trailing_mean(b, g, axis));
  return b.mul(args.out(2), b.sub(centred, b.mul(x_hat, trailing_mean(b, b.mul(g, x_hat), axis))));
}

// From ∂mean/∂x_i = 1/N and ∂rstd/∂x_i = −rstd²·x̂_i/N, gradients of the statistics add dmean/N − drstd·rstd²·x̂/N.
ValueId gradient_of_x(VjpArgs& args, ValueId x_hat, ValueId dy) {
  Builder& b = args.b;
  const double per_element = 1.0 / static_cast<double>(trailing_count(b.shape(x_hat), axis_of(args.node())));
  ValueId dx = dy.valid() ? gradient_through_y(args, x_hat, dy) : b.zeros_like(x_hat);
  if (args.grad(1).valid()) dx = b.add(dx, b.mul(args.grad(1), per_element));
  if (args.grad(2).valid()) {
    const ValueId rstd = args.out(2);
    dx = b.sub(dx, b.mul(b.mul(b.mul(args.grad(2), per_element), b.mul(rstd, rstd)), x_hat));
  }
  return dx;
}

// With g = dy·scale: dx = rstd·(g − mean(g) − x̂·mean(g·x̂)), dscale = Σ dy·x̂, dbias = Σ dy.
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId dy = args.grad(0).valid() ? to_statistics(b, args.grad(0)) : kNoValue;
  const ValueId x_hat = b.mul(b.sub(to_statistics(b, args.in(0)), args.out(1)), args.out(2));
  if (args.needs(0)) set_norm_gradient(args, 0, gradient_of_x(args, x_hat, dy));
  if (dy.valid() && args.needs(1)) set_norm_gradient(args, 1, b.mul(dy, x_hat));
  if (dy.valid() && args.needs(2)) set_norm_gradient(args, 2, dy);
}

// Sum, difference, square, sum, product; scale and bias where present.
int64_t flops(const Graph& graph, const Node& node) {
  int64_t per_element = 5;
  for (size_t i = 1; i < node.inputs.size(); ++i) per_element += node.inputs[i].valid() ? 1 : 0;
  return per_element * graph.shape(node.inputs[0]).numel();
}

void eval(const EvalArgs& args) {
  const RefTensor& x = args.in(0);
  const double epsilon = args.node.attrs.real("epsilon");
  const int64_t count = trailing_count(x.type.shape, axis_of(args.node));
  RefTensor &y = args.outputs[0], &mean = args.outputs[1], &rstd = args.outputs[2];
  for (int64_t row = 0; row < mean.numel(); ++row) {
    const auto at = [&](int64_t k) { return static_cast<size_t>(row * count + k); };
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += x.real[at(k)];
    const double row_mean = sum / static_cast<double>(count);
    double squares = 0;
    for (int64_t k = 0; k < count; ++k) squares += (x.real[at(k)] - row_mean) * (x.real[at(k)] - row_mean);
    const double row_rstd = 1.0 / std::sqrt(squares / static_cast<double>(count) + epsilon);
    for (int64_t k = 0; k < count; ++k) y.real[at(k)] = (x.real[at(k)] - row_mean) * row_rstd;
    mean.real[static_cast<size_t>(row)] = row_mean;
    rstd.real[static_cast<size_t>(row)] = row_rstd;
  }
  scale_and_shift(args, y);
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const size_t axis = axis_of(node);
  const ValueId x = to_statistics(b, node.inputs[0]);
  const ValueId mean = trailing_mean(b, x, axis);
  const ValueId centred = b.sub(x, mean);
  const ValueId variance = trailing_mean(b, b.mul(centred, centred), axis);
  const ValueId rstd = b.unary(Op::rsqrt, b.add(variance, node.attrs.real("epsilon")));
  const ValueId y = scale_and_shift(b, node, b.mul(centred, rstd));
  return {b.cast(y, graph.dtype(node.inputs[0])), mean, rstd};
}

}  // namespace

constinit const OpDef op_layer_norm = {
    .name = "layer_norm",
    .kind = OpKind::composite,
    .min_inputs = 1,
    .max_inputs = 3,
    .outputs = 3,
    .attrs = {{{"axis", AttrKind::integer}, {"epsilon", AttrKind::real}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
