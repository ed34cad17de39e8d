#include "ir/ops/rows.h"

#include <cmath>

namespace stepc {

namespace {

// rms_norm(x, scale?) → y, rstd. Over the N elements of a row (`axis` and all axes after it):
// rstd = (Σx² / N + epsilon)^(-1/2), x̂ = x·rstd, y = x̂·scale.

std::vector<Type> infer(const InferArgs& args) { return infer_norm(args, 1); }

// rstd·(g − x̂·mean(g·x̂)), g = dy·scale
ValueId gradient_through_y(VjpArgs& args, ValueId x_hat, ValueId dy) {
  Builder& b = args.b;
  const ValueId g = args.has(1) ? b.mul(dy, to_statistics(b, args.in(1))) : dy;
  const ValueId projection = trailing_mean(b, b.mul(g, x_hat), axis_of(args.node()));
  return b.mul(args.out(1), b.sub(g, b.mul(x_hat, projection)));
}

// From ∂rstd/∂x_i = −rstd²·x̂_i/N, a gradient of rstd adds −drstd·rstd²·x̂/N.
ValueId gradient_of_x(VjpArgs& args, ValueId x_hat, ValueId dy) {
  Builder& b = args.b;
  const ValueId dx = dy.valid() ? gradient_through_y(args, x_hat, dy) : b.zeros_like(x_hat);
  if (!args.grad(1).valid()) return dx;
  const double per_element = 1.0 / static_cast<double>(trailing_count(b.shape(x_hat), axis_of(args.node())));
  const ValueId rstd = args.out(1);
  return b.sub(dx, b.mul(b.mul(b.mul(args.grad(1), per_element), b.mul(rstd, rstd)), x_hat));
}

// With g = dy·scale: dx = rstd·(g − x̂·mean(g·x̂)), dscale = Σ dy·x̂.
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId dy = args.grad(0).valid() ? to_statistics(b, args.grad(0)) : kNoValue;
  const ValueId x_hat = b.mul(to_statistics(b, args.in(0)), args.out(1));
  if (args.needs(0)) set_norm_gradient(args, 0, gradient_of_x(args, x_hat, dy));
  if (dy.valid() && args.needs(1)) set_norm_gradient(args, 1, b.mul(dy, x_hat));
}

// Square, sum, product; scale where present.
int64_t flops(const Graph& graph, const Node& node) {
  const int64_t per_element = node.inputs.size() > 1 && node.inputs[1].valid() ? 4 : 3;
  return per_element * graph.shape(node.inputs[0]).numel();
}

void eval(const EvalArgs& args) {
  const RefTensor& x = args.in(0);
  const double epsilon = args.node.attrs.real("epsilon");
  const int64_t count = trailing_count(x.type.shape, axis_of(args.node));
  RefTensor &y = args.outputs[0], &rstd = args.outputs[1];
  for (int64_t row = 0; row < rstd.numel(); ++row) {
    const auto at = [&](int64_t k) { return static_cast<size_t>(row * count + k); };
    double squares = 0;
    for (int64_t k = 0; k < count; ++k) squares += x.real[at(k)] * x.real[at(k)];
    const double row_rstd = 1.0 / std::sqrt(squares / static_cast<double>(count) + epsilon);
    for (int64_t k = 0; k < count; ++k) y.real[at(k)] = x.real[at(k)] * row_rstd;
    rstd.real[static_cast<size_t>(row)] = row_rstd;
  }
  scale_and_shift(args, y);
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId x = to_statistics(b, node.inputs[0]);
  const ValueId mean_square = trailing_mean(b, b.mul(x, x), axis_of(node));
  const ValueId rstd = b.unary(Op::rsqrt, b.add(mean_square, node.attrs.real("epsilon")));
  const ValueId y = scale_and_shift(b, node, b.mul(x, rstd));
  return {b.cast(y, graph.dtype(node.inputs[0])), rstd};
}

}  // namespace

constinit const OpDef op_rms_norm = {
    .name = "rms_norm",
    .kind = OpKind::composite,
    .min_inputs = 1,
    .max_inputs = 2,
    .outputs = 2,
    .attrs = {{{"axis", AttrKind::integer}, {"epsilon", AttrKind::real}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
