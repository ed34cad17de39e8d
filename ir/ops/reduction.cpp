#include "ir/ops/reduction.h"

#include "ir/support/error.h"

#include <limits>

namespace stepc {

std::vector<Type> infer_reduction(const InferArgs& args) {
  const std::vector<int64_t>& axes = args.attrs.integers("axes");
  const Shape& shape = args.in(0).shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(shape.rank()))
      user_error("axis {} is out of range for {}", axes[i], to_string(shape));
    if (i > 0 && axes[i] <= axes[i - 1]) user_error("axes [{}] are not sorted and distinct", fmt::join(axes, ","));
  }
  return {{args.in(0).dtype, reduce(shape, axes, args.attrs.flag("keepdims"))}};
}

std::vector<Type> infer_number_reduction(const InferArgs& args) {
  if (args.in(0).dtype == Dtype::boolean) user_error("an operand of bool; cast it to a number type");
  return infer_reduction(args);
}

int64_t reduction_flops(const Graph& graph, const Node& node) { return graph.shape(node.inputs[0]).numel(); }

ValueId with_reduced_axes(Builder& b, const Node& node, ValueId v) {
  return b.reshape(v, reduce(b.shape(node.inputs[0]), node.attrs.integers("axes"), /*keepdims=*/true));
}

Dims reduced_strides(const Shape& operand, const std::vector<int64_t>& axes) {
  return broadcast_strides(reduce(operand, axes, /*keepdims=*/true), operand);
}

namespace {

// y = x[j], j = arg: dx = (index == j) · dy. The index is saved, as PyTorch's max(dim) does.
ValueId gradient_at_index(VjpArgs& args, Op arg, int64_t axis, ValueId dy) {
  const Shape& shape = args.graph().shape(args.in(0));
  const ValueId index = args.forward().make(arg, {args.in(0)}, {{"axis", axis}, {"keepdims", true}});
  Dims along(shape.rank(), 1);
  along[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
  const ValueId here = args.b.iota(args.b.dtype(index), Shape(along), static_cast<size_t>(axis));
  return args.b.select(args.b.binary(Op::equal, here, index), dy, args.b.scalar_like(0, dy));
}

// dx = (x == y) · dy / #{x == y}: the extreme elements share the gradient evenly (PyTorch's amax).
ValueId gradient_over_ties(VjpArgs& args, const std::vector<int64_t>& axes, ValueId dy) {
  Builder& b = args.b;
  const ValueId y = with_reduced_axes(b, args.node(), args.out(0));
  const ValueId extreme = b.binary(Op::equal, args.in(0), y);
  const ValueId ties = b.reduce_sum(b.cast(extreme, b.dtype(dy)), axes, /*keepdims=*/true);
  return b.select(extreme, b.div(dy, ties), b.scalar_like(0, dy));
}

}  // namespace

void extremum_vjp(VjpArgs& args, Op arg) {
  const std::vector<int64_t>& axes = args.node().attrs.integers("axes");
  const ValueId dy = with_reduced_axes(args.b, args.node(), args.grad());
  if (axes.empty())
    args.set(0, dy);
  else if (args.graph().shape(args.in(0)).numel() == 0)
    args.set(0, args.b.zeros_like(args.in(0)));
  else if (axes.size() == 1)
    args.set(0, gradient_at_index(args, arg, axes[0], dy));
  else
    args.set(0, gradient_over_ties(args, axes, dy));
}

int64_t lowest_integer(Dtype dtype) {
  switch (dtype) {
    case Dtype::i64: return std::numeric_limits<int64_t>::min();
    case Dtype::i32: return std::numeric_limits<int32_t>::min();
    case Dtype::i8: return std::numeric_limits<int8_t>::min();
    default: return 0;
  }
}

int64_t highest_integer(Dtype dtype) {
  switch (dtype) {
    case Dtype::i64: return std::numeric_limits<int64_t>::max();
    case Dtype::i32: return std::numeric_limits<int32_t>::max();
    case Dtype::i8: return std::numeric_limits<int8_t>::max();
    case Dtype::u8: return std::numeric_limits<uint8_t>::max();
    default: return 1;
  }
}

}  // namespace stepc
