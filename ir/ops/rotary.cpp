#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/ops/index_space.h"
#include "ir/support/error.h"

#include <utility>

namespace stepc {

namespace {

// Rotary position embedding (Su et al. 2021). rotary(x [..., D], cos, sin) rotates the first R = `rotary_dim` elements
// of the last axis (0: all of them) in R/2 pairs (x1, x2) → (x1·cos − x2·sin, x2·cos + x1·sin) and keeps the rest. Pair
// p is elements (p, p + R/2), or with `interleaved` (2p, 2p + 1). cos and sin broadcast to [..., R/2].

int64_t rotated(const Attrs& attrs, const Shape& x) {
  const int64_t rotary_dim = attrs.integer("rotary_dim");
  return rotary_dim == 0 ? x[x.rank() - 1] : rotary_dim;
}

// The shape of either half of the pairs.
Shape pair_shape(const Attrs& attrs, const Shape& x) {
  Dims dims = x.dims();
  dims.back() = rotated(attrs, x) / 2;
  return Shape(dims);
}

std::vector<Type> infer(const InferArgs& args) {
  const Type& x = args.in(0);
  if (!is_float(x.dtype) || x.shape.rank() == 0) user_error("an operand of type {}", to_string(x));
  const int64_t size = x.shape[x.shape.rank() - 1];
  const int64_t rotary_dim = rotated(args.attrs, x.shape);
  if (rotary_dim < 0 || rotary_dim > size || rotary_dim % 2 != 0)
    user_error("cannot rotate {} of {} elements: an even number up to the size of the last axis is needed", rotary_dim,
               size);
  const Shape pairs = pair_shape(args.attrs, x.shape);
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (args.in(i).dtype != x.dtype)
      user_error("{} of {} for an operand of {}", i == 1 ? "cos" : "sin", dtype_name(args.in(i).dtype),
                 dtype_name(x.dtype));
    if (!broadcasts_to(args.in(i).shape, pairs))
      user_error("{} {} does not broadcast to {}", i == 1 ? "cos" : "sin", to_string(args.in(i).shape),
                 to_string(pairs));
  }
  return {x};
}

// The two halves of all pairs, each of `pair_shape`.
std::pair<ValueId, ValueId> pairs_of(Builder& b, const Attrs& attrs, ValueId x) {
  const Shape& shape = b.shape(x);
  const Dims sizes = pair_shape(attrs, shape).dims();
  const bool interleaved = attrs.flag("interleaved");
  Dims starts(shape.rank(), 0);
  Dims steps(shape.rank(), 1);
  if (interleaved) steps.back() = 2;
  const ValueId first = b.slice(x, starts, sizes, steps);
  starts.back() = interleaved ? 1 : sizes.back();
  return {first, b.slice(x, starts, sizes, steps)};
}

// The inverse of `pairs_of`; elements that are not rotated come from `x`.
ValueId join_pairs(Builder& b, const Attrs& attrs, ValueId first, ValueId second, ValueId x) {
  const Shape shape = b.shape(x);
  const size_t last = shape.rank() - 1;
  const int64_t rotary_dim = rotated(attrs, shape);
  ValueId joined;
  if (attrs.flag("interleaved")) {
    Dims dims = shape.dims();
    dims[last] = rotary_dim;
    joined = b.reshape(b.concat({b.unsqueeze(first, last + 1), b.unsqueeze(second, last + 1)}, last + 1), Shape(dims));
  } else {
    joined = b.concat({first, second}, last);
  }
  if (rotary_dim == shape[last]) return joined;
  return b.concat({joined, b.slice_axis(x, last, rotary_dim, shape[last] - rotary_dim)}, last);
}

// The transpose of a rotation is the rotation by the negative angle: dx = rotary(dy, cos, −sin);
// dcos = Σ dy1·x1 + dy2·x2, dsin = Σ dy2·x1 − dy1·x2, summed to the shapes of cos and sin.
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const Attrs& attrs = args.node().attrs;
  if (args.needs(0)) args.set(0, b.make(Op::rotary, {args.grad(), args.in(1), b.neg(args.in(2))}, attrs));
  if (!args.needs(1) && !args.needs(2)) return;
  const auto [x1, x2] = pairs_of(b, attrs, args.in(0));
  const auto [dy1, dy2] = pairs_of(b, attrs, args.grad());
  const auto set = [&](size_t i, ValueId gradient) { args.set(i, b.sum_to(gradient, args.graph().shape(args.in(i)))); };
  if (args.needs(1)) set(1, b.add(b.mul(dy1, x1), b.mul(dy2, x2)));
  if (args.needs(2)) set(2, b.sub(b.mul(dy2, x1), b.mul(dy1, x2)));
}

// Four products, a difference and a sum per pair.
int64_t flops(const Graph& graph, const Node& node) {
  return 6 * pair_shape(node.attrs, graph.shape(node.inputs[0])).numel();
}

void eval(const EvalArgs& args) {
  const RefTensor& x = args.in(0);
  const Shape& shape = x.type.shape;
  const Shape pairs = pair_shape(args.node.attrs, shape);
  const bool interleaved = args.node.attrs.flag("interleaved");
  Dims strides = row_major_strides(shape);
  if (interleaved) strides.back() = 2;
  const int64_t to_second = interleaved ? 1 : pairs[pairs.rank() - 1];
  std::vector<double>& y = args.outputs[0].real;
  y = x.real;
  for_each_offset<3>(
      pairs.dims(),
      {strides, broadcast_strides(args.in(1).type.shape, pairs), broadcast_strides(args.in(2).type.shape, pairs)},
      [&](const std::array<int64_t, 3>& at) {
        const auto first = static_cast<size_t>(at[0]), second = static_cast<size_t>(at[0] + to_second);
        const double cos = args.in(1).real[static_cast<size_t>(at[1])];
        const double sin = args.in(2).real[static_cast<size_t>(at[2])];
        y[first] = x.real[first] * cos - x.real[second] * sin;
        y[second] = x.real[second] * cos + x.real[first] * sin;
      });
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId cos = node.inputs[1], sin = node.inputs[2];
  const auto [x1, x2] = pairs_of(b, node.attrs, node.inputs[0]);
  const ValueId y1 = b.sub(b.mul(x1, cos), b.mul(x2, sin));
  const ValueId y2 = b.add(b.mul(x2, cos), b.mul(x1, sin));
  return {join_pairs(b, node.attrs, y1, y2, node.inputs[0])};
}

}  // namespace

constinit const OpDef op_rotary = {
    .name = "rotary",
    .kind = OpKind::composite,
    .min_inputs = 3,
    .max_inputs = 3,
    .attrs = {{{"interleaved", AttrKind::boolean, false}, {"rotary_dim", AttrKind::integer, false}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
