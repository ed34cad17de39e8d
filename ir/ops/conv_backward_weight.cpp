#include "ir/builder.h"
#include "ir/ops/convolve.h"
#include "ir/support/checked.h"

namespace stepc {

namespace {

// conv_backward_weight(x, dy) → dw of shape `weight_shape`: the gradient of conv(x, w) by w.

std::vector<Type> infer(const InferArgs& args) {
  const Dtype dtype = convolved_dtype(args);
  const Shape w(args.attrs.integers("weight_shape"));
  check_result_gradient(args, args.in(0).shape, w, args.in(1).shape);
  return {{dtype, w}};
}

// dw is linear in x and in dy: dx = conv_backward_input(dy, g), ddy = conv(x, g)
void vjp(VjpArgs& args) {
  const ValueId g = args.grad(), x = args.in(0), dy = args.in(1);
  const Attrs of_dx = attrs_for(args.node(), "input_shape", args.graph().shape(x));
  if (args.needs(0)) args.set(0, args.b.make(Op::conv_backward_input, {dy, g}, of_dx));
  if (args.needs(1)) args.set(1, args.b.make(Op::conv, {x, g}, attrs_for(args.node())));
}

int64_t flops(const Graph& graph, const Node& node) {
  const Convolution conv = bind_convolution(node.attrs, graph.shape(node.inputs[0]), graph.shape(node.outputs[0]));
  return checked_mul(2, conv.multiply_adds());
}

void eval(const EvalArgs& args) {
  const RefTensor &x = args.in(0), &dy = args.in(1);
  RefTensor& dw = args.outputs[0];
  for_each_product(bind_convolution(args.node.attrs, x.type.shape, dw.type.shape),
                   [&](size_t at_x, size_t k, size_t y) { dw.real[k] += x.real[at_x] * dy.real[y]; });
}

}  // namespace

constinit const OpDef op_conv_backward_weight = {
    .name = "conv_backward_weight",
    .kind = OpKind::contraction,
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = convolution_attrs("weight_shape"),
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
