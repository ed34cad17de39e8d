#include "ir/convolution.h"
#include "ir/einsum.h"
#include "ir/kernel/trace.h"
#include "ir/support/error.h"

// Contractions and convolutions as sums of products over a loop nest, where no library carries them.
namespace stepc {

Dtype accumulator_of(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16 ? Dtype::f32 : dtype; }

ConvolutionShapes convolution_shapes(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::conv_backward_input: return {graph.shape(node.outputs[0]), graph.shape(node.inputs[1])};
    case Op::conv_backward_weight: return {graph.shape(node.inputs[0]), graph.shape(node.outputs[0])};
    default: return {graph.shape(node.inputs[0]), graph.shape(node.inputs[1])};
  }
}

void Tracer::require_kept(const Coordinates& at) const {
  for (size_t i = 0, axis = 0; axis < axes_.forms.size(); ++axis) {
    if (axes_.reduced[axis]) continue;
    if (i >= at.size() || !(at[i++] == axes_.forms[axis])) cannot("a contraction that is read at other places");
  }
}

ScalarId Tracer::sum_of_products(ScalarId a, ScalarId b, Dtype accumulate) {
  const ScalarId product = nest_.dag.mul(nest_.dag.cast(a, accumulate), nest_.dag.cast(b, accumulate));
  return reduce({ReduceOp::sum, product, accumulate});
}

// The iteration shape is the labels of the result, then those that are summed.
ScalarId Tracer::contraction(const Node& node, const Coordinates& at) {
  const Einsum einsum =
      bind_einsum(parse_einsum(node.attrs.text("spec")), shape(node.inputs[0]), shape(node.inputs[1]));
  if (einsum.labels.size() != axes_.forms.size()) cannot("a contraction");
  require_kept(at);
  const Dtype dtype = this->dtype(node.inputs[0]);
  const bool wide = is_float(dtype) && node.attrs.dtype("accumulate") == Dtype::f64;
  const Dtype accumulate = wide ? Dtype::f64 : accumulator_of(dtype);
  if (einsum.volume() == 0) return nest_.dag.literal(0, dtype);
  Coordinates a(shape(node.inputs[0]).rank());
  Coordinates b(shape(node.inputs[1]).rank());
  for (size_t i = 0; i < einsum.labels.size(); ++i) {
    const EinsumLabel& label = einsum.labels[i];
    if (label.a_axis >= 0) a[static_cast<size_t>(label.a_axis)] = axes_.forms[i];
    if (label.b_axis >= 0) b[static_cast<size_t>(label.b_axis)] = axes_.forms[i];
  }
  return nest_.dag.cast(sum_of_products(value(node.inputs[0], a, {}), value(node.inputs[1], b, {}), accumulate), dtype);
}

IndexForm Tracer::divided(const IndexForm& form, int64_t divisor, bool remainder) {
  std::optional<DimSplit> split;
  const std::optional<Division> division = divide(form, divisor, nest_.dims, split);
  if (!division && split) throw SplitRequest{*split};
  if (!division) cannot("channel groups");
  return remainder ? division->remainder : division->quotient;
}

// Iteration shapes, summed axes in brackets; g is the channel group.
//   conv                  n m out.. [c k..]   x[n, g·C + c, out·stride + k·dilation − pad] · w[m, c, k]   g = m / M
//   conv_backward_input   n c in.. [m k..]    dy[n, g·M + m, (in + pad − k·dilation) / stride] · w[g·M + m, c % C, k]
//   conv_backward_weight  m c k.. [n out..]   x[n, g·C + c, out·stride + k·dilation − pad] · dy[n, m, out]
// with C and M the channels of a group (ir/convolution.h), g = c / C in the second.
ScalarId Tracer::convolution(const Node& node, const Coordinates& at) {
  const ConvolutionShapes shapes = convolution_shapes(*scope_.graph, node);
  const Convolution conv = bind_convolution(node.attrs, shapes.input, shapes.weight);
  require_kept(at);
  const Dtype dtype = this->dtype(node.inputs[0]);
  const size_t spatial = conv.kernel.rank();
  const auto axis = [&](size_t i) -> const IndexForm& { return axes_.forms[i]; };
  const auto spatial_axes = [&](size_t first) {
    return Coordinates(axes_.forms.begin() + static_cast<std::ptrdiff_t>(first),
                       axes_.forms.begin() + static_cast<std::ptrdiff_t>(first + spatial));
  };
  const auto with_channels = [](IndexForm first, IndexForm second, const Coordinates& rest) {
    Coordinates result{std::move(first), std::move(second)};
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
  };

  std::vector<Guard> inside;
  Coordinates left, right;
  if (node.op == Op::conv_backward_input) {
    const Coordinates in = spatial_axes(2), k = spatial_axes(3 + spatial);
    const IndexForm m = sum(axis(2 + spatial), scaled(divided(axis(1), conv.in_channels, false), conv.out_channels));
    left = with_channels(axis(0), m, output_positions(conv, in, k, inside));
    right = with_channels(m, divided(axis(1), conv.in_channels, true), k);
  } else {
    const bool forward = node.op == Op::conv;
    const IndexForm& m = axis(forward ? 1 : 0);
    const IndexForm& c = axis(forward ? 2 + spatial : 1);
    const IndexForm& n = axis(forward ? 0 : 2 + spatial);
    const Coordinates out = spatial_axes(forward ? 2 : 3 + spatial), k = spatial_axes(forward ? 3 + spatial : 2);
    const IndexForm channel = sum(c, scaled(divided(m, conv.out_channels, false), conv.in_channels));
    left = with_channels(n, channel, input_positions(conv, out, k, inside));
    right = forward ? with_channels(m, c, k) : with_channels(n, m, out);
  }
  const bool empty = conv.multiply_adds() == 0;
  const ScalarId a = empty ? nest_.dag.literal(0, dtype) : value(node.inputs[0], left, inside);
  const ScalarId b = empty ? a : value(node.inputs[1], right, {});
  ScalarId result = sum_of_products(a, b, accumulator_of(dtype));
  if (node.inputs.size() > 2 && node.inputs[2].valid())
    result = nest_.dag.add(result, nest_.dag.cast(value(node.inputs[2], {axis(1)}, {}), accumulator_of(dtype)));
  return nest_.dag.cast(result, dtype);
}

Coordinates Tracer::input_positions(const Convolution& conv, const Coordinates& out, const Coordinates& k,
                                    std::vector<Guard>& inside) const {
  Coordinates result;
  for (size_t i = 0; i < k.size(); ++i) {
    result.push_back(shifted(sum(scaled(out[i], conv.strides[i]), scaled(k[i], conv.dilations[i])), -conv.pad_low[i]));
    inside.push_back({result.back(), 0, conv.input[i], 1});
  }
  return result;
}

Coordinates Tracer::output_positions(const Convolution& conv, const Coordinates& in, const Coordinates& k,
                                     std::vector<Guard>& inside) {
  Coordinates result;
  for (size_t i = 0; i < k.size(); ++i) {
    const int64_t stride = conv.strides[i];
    IndexForm at = shifted(sum(in[i], scaled(k[i], -conv.dilations[i])), conv.pad_low[i]);
    inside.push_back({at, 0, (conv.output[i] - 1) * stride + 1, stride});
    result.push_back(stride == 1 ? at : divided_coordinate(at, stride));
  }
  return result;
}

}  // namespace stepc
