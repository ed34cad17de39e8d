#include "ir/builder.h"
#include "ir/ops/convolve.h"
#include "ir/support/checked.h"

namespace stepc {

namespace {

// conv(x, w, bias? [M]): ir/convolution.h.

Convolution bound(const Graph& graph, const Node& node) {
  return bind_convolution(node.attrs, graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
}

std::vector<Type> infer(const InferArgs& args) {
  const Dtype dtype = convolved_dtype(args);
  const Shape& w = args.in(1).shape;
  const Convolution conv = bind_convolution(args.attrs, args.in(0).shape, w);
  if (args.has(2) && args.in(2) != Type{dtype, {w[0]}})
    user_error("bias {} for {} output channels of {}", to_string(args.in(2)), w[0], dtype_name(dtype));
  return {{dtype, conv.output_shape()}};
}

// dx = conv_backward_input(dy, w), dw = conv_backward_weight(x, dy), dbias = Σ dy over the batch and the spatial dims.
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId dy = args.grad();
  const ValueId x = args.in(0), w = args.in(1);
  const Attrs of_dx = attrs_for(args.node(), "input_shape", b.shape(x));
  const Attrs of_dw = attrs_for(args.node(), "weight_shape", b.shape(w));
  if (args.needs(0)) args.set(0, b.make(Op::conv_backward_input, {dy, w}, of_dx));
  if (args.needs(1)) args.set(1, b.make(Op::conv_backward_weight, {x, dy}, of_dw));
  if (args.needs(2)) {
    std::vector<int64_t> axes = {0};
    for (size_t i = 2; i < b.shape(dy).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    args.set(2, b.reduce_sum(dy, axes, /*keepdims=*/false));
  }
}

int64_t flops(const Graph& graph, const Node& node) {
  const int64_t bias = node.inputs.size() > 2 && node.inputs[2].valid() ? graph.shape(node.outputs[0]).numel() : 0;
  return checked_add(checked_mul(2, bound(graph, node).multiply_adds()), bias);
}

void eval(const EvalArgs& args) {
  const RefTensor &x = args.in(0), &w = args.in(1);
  RefTensor& y = args.outputs[0];
  for_each_product(bind_convolution(args.node.attrs, x.type.shape, w.type.shape),
                   [&](size_t at_x, size_t at_w, size_t at_y) { y.real[at_y] += x.real[at_x] * w.real[at_w]; });
  if (!args.has(2)) return;
  const AxisView view(y.type.shape, 1);
  for (int64_t n = 0; n < view.outer_count; ++n)
    for (int64_t m = 0; m < view.size; ++m)
      for (int64_t i = 0; i < view.inner_count; ++i)
        y.real[static_cast<size_t>(view.index(n, m, i))] += args.in(2).real[static_cast<size_t>(m)];
}

}  // namespace

constinit const OpDef op_conv = {
    .name = "conv",
    .kind = OpKind::contraction,
    .min_inputs = 2,
    .max_inputs = 3,
    .attrs = convolution_attrs(),
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
