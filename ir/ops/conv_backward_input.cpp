#include "ir/builder.h"
#include "ir/ops/convolve.h"
#include "ir/support/checked.h"

namespace stepc {

namespace {

// conv_backward_input(dy, w) → dx of shape `input_shape`: the gradient of conv(x, w) by x, a transposed convolution.

std::vector<Type> infer(const InferArgs& args) {
  const Dtype dtype = convolved_dtype(args);
  const Shape x(args.attrs.integers("input_shape"));
  check_result_gradient(args, x, args.in(1).shape, args.in(0).shape);
  return {{dtype, x}};
}

// dx is linear in dy and in w: ddy = conv(g, w), dw = conv_backward_weight(g, dy)
void vjp(VjpArgs& args) {
  const ValueId g = args.grad(), dy = args.in(0), w = args.in(1);
  const Attrs of_dw = attrs_for(args.node(), "weight_shape", args.graph().shape(w));
  if (args.needs(0)) args.set(0, args.b.make(Op::conv, {g, w}, attrs_for(args.node())));
  if (args.needs(1)) args.set(1, args.b.make(Op::conv_backward_weight, {g, dy}, of_dw));
}

int64_t flops(const Graph& graph, const Node& node) {
  const Convolution conv = bind_convolution(node.attrs, graph.shape(node.outputs[0]), graph.shape(node.inputs[1]));
  return checked_mul(2, conv.multiply_adds());
}

void eval(const EvalArgs& args) {
  const RefTensor &dy = args.in(0), &w = args.in(1);
  RefTensor& dx = args.outputs[0];
  for_each_product(bind_convolution(args.node.attrs, dx.type.shape, w.type.shape),
                   [&](size_t x, size_t k, size_t y) { dx.real[x] += dy.real[y] * w.real[k]; });
}

}  // namespace

constinit const OpDef op_conv_backward_input = {
    .name = "conv_backward_input",
    .kind = OpKind::contraction,
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = convolution_attrs("input_shape"),
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
