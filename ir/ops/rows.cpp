#include "ir/ops/rows.h"

#include "ir/finite_attr.h"
#include "ir/ops/index_space.h"
#include "ir/support/error.h"

#include <limits>
#include <numeric>

namespace stepc {

namespace {

std::vector<int64_t> trailing_axes(const Shape& shape, size_t axis) {
  std::vector<int64_t> axes(shape.rank() - axis);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(axis));
  return axes;
}

}  // namespace

size_t row_axis(const InferArgs& args) {
  const Type& x = args.in(0);
  const int64_t axis = args.attrs.integer("axis");
  if (!is_float(x.dtype)) user_error("an operand of {}; it must be a float", dtype_name(x.dtype));
  if (axis < 0 || axis >= static_cast<int64_t>(x.shape.rank()))
    user_error("axis {} is out of range for {}", axis, to_string(x.shape));
  return static_cast<size_t>(axis);
}

size_t axis_of(const Node& node) { return static_cast<size_t>(node.attrs.integer("axis")); }

ValueId to_statistics(Builder& b, ValueId v) { return b.cast(v, statistics_dtype(b.dtype(v))); }

ValueId row_sum(Builder& b, ValueId v, size_t axis) {
  return b.reduce_sum(v, {static_cast<int64_t>(axis)}, /*keepdims=*/true);
}

Shape trailing_reduced(const Shape& shape, size_t axis) {
  return reduce(shape, trailing_axes(shape, axis), /*keepdims=*/true);
}

int64_t trailing_count(const Shape& shape, size_t axis) {
  int64_t count = 1;
  for (size_t i = axis; i < shape.rank(); ++i) count *= shape[i];
  return count;
}

ValueId trailing_mean(Builder& b, ValueId v, size_t axis) {
  const ValueId sum = b.reduce_sum(v, trailing_axes(b.shape(v), axis), /*keepdims=*/true);
  return b.mul(sum, 1.0 / static_cast<double>(trailing_count(b.shape(v), axis)));
}

std::vector<Type> infer_norm(const InferArgs& args, size_t statistics) {
  const size_t axis = row_axis(args);
  finite_attr(args.attrs, "epsilon");
  const Type& x = args.in(0);
  for (size_t i = 1; i < args.inputs.size(); ++i)
    if (args.has(i) && (!is_float(args.in(i).dtype) || !broadcasts_to(args.in(i).shape, x.shape)))
      user_error("operand {} of type {} does not broadcast to {}", i, to_string(args.in(i)), to_string(x));
  std::vector<Type> types = {x};
  types.resize(1 + statistics, Type{statistics_dtype(x.dtype), trailing_reduced(x.shape, axis)});
  return types;
}

ValueId scale_and_shift(Builder& b, const Node& node, ValueId y) {
  const auto operand = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; };
  if (operand(1).valid()) y = b.mul(y, b.cast(operand(1), b.dtype(y)));
  if (operand(2).valid()) y = b.add(y, b.cast(operand(2), b.dtype(y)));
  return y;
}

void scale_and_shift(const EvalArgs& args, RefTensor& y) {
  const Shape& shape = y.type.shape;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!args.has(i)) continue;
    const std::vector<double>& operand = args.in(i).real;
    for_each_offset<2>(shape.dims(), {row_major_strides(shape), broadcast_strides(args.in(i).type.shape, shape)},
                       [&](const std::array<int64_t, 2>& at) {
                         double& element = y.real[static_cast<size_t>(at[0])];
                         const double factor_or_term = operand[static_cast<size_t>(at[1])];
                         element = i == 1 ? element * factor_or_term : element + factor_or_term;
                       });
  }
}

void set_norm_gradient(VjpArgs& args, size_t i, ValueId gradient) {
  const Type& type = args.graph().type(args.in(i));
  args.set(i, args.b.cast(args.b.sum_to(gradient, type.shape), type.dtype));
}

ShiftedExp shifted_exp(Builder& b, ValueId x, size_t axis, bool dead_rows_vanish) {
  ShiftedExp e;
  e.shift = b.reduce(Op::reduce_max, x, {static_cast<int64_t>(axis)}, /*keepdims=*/true);
  if (dead_rows_vanish) {
    const ValueId lowest = b.scalar_like(-std::numeric_limits<double>::infinity(), e.shift);
    const ValueId dead = b.binary(Op::equal, e.shift, lowest);
    e.shift = b.select(dead, b.scalar_like(0, e.shift), e.shift);
  }
  e.shifted = b.sub(x, e.shift);
  e.exp = b.unary(Op::exp, e.shifted);
  e.sum = row_sum(b, e.exp, axis);
  return e;
}

}  // namespace stepc
