#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/ops/convolve.h"
#include "ir/support/checked.h"

namespace stepc {

namespace {

// conv_backward_input(dy, w) → dx of shape `input_shape`: the gradient of conv(x, w) by x, a transposed convolution.

std::vector<Type> infer(const InferArgs& args) {
  const Type &dy = args.in(0), &w = args.in(1);
  if (!is_float(dy.dtype) || w.dtype != dy.dtype)
    user_error("operands {} and {} have no common float type", to_string(dy), to_string(w));
  const Shape x(args.attrs.integers("input_shape"));
  const Shape y = bind_convolution(args.attrs, x, w.shape).output_shape();
  if (dy.shape != y) user_error("a gradient {} for a result {}", to_string(dy.shape), to_string(y));
  return {{dy.dtype, x}};
}

// dx is linear in dy and in w: ddy = conv(g, w), dw = conv_backward_weight(g, dy)
void vjp(VjpArgs& args) {
  Attrs attrs;
  for (const auto& [key, value] : args.node().attrs)
    if (key != "input_shape") attrs.set(key, value);
  const ValueId g = args.grad(), dy = args.in(0), w = args.in(1);
  if (args.needs(0)) args.set(0, args.b.make(Op::conv, {g, w}, attrs));
  attrs.set("weight_shape", args.graph().shape(w).dims());
  if (args.needs(1)) args.set(1, args.b.make(Op::conv_backward_weight, {g, dy}, attrs));
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
    .attrs = {{{"input_shape", AttrKind::integers},
               {"strides", AttrKind::integers},
               {"pads", AttrKind::integers},
               {"dilations", AttrKind::integers},
               {"group", AttrKind::integer, false, 1}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
