#pragma once

#include "ir/builder.h"
#include "ir/op_def.h"

namespace stepc {

// What the operations on rows share (softmax, norms, losses). They compute in the statistics dtype of their operand and
// round once, so their VJPs and decompositions cast to it first and back last.

// The attribute `axis` of a float operand. Throws UserError unless it is in [0, rank).
size_t row_axis(const InferArgs& args);
size_t axis_of(const Node& node);

ValueId to_statistics(Builder& b, ValueId v);
ValueId row_sum(Builder& b, ValueId v, size_t axis);  // keeps the axis with size 1

// The norms normalise over `axis` and all axes after it: a row is what these axes span.
Shape trailing_reduced(const Shape& shape, size_t axis);    // they have size 1
int64_t trailing_count(const Shape& shape, size_t axis);    // elements of a row
ValueId trailing_mean(Builder& b, ValueId v, size_t axis);  // keeps them with size 1

// Types of a norm: the normalised operand, then `statistics` results with one element per row. Throws UserError unless
// the operands after the first are floats that broadcast to it.
std::vector<Type> infer_norm(const InferArgs& args, size_t statistics);
// y·scale + bias with the operands 1 and 2 of a norm, where present: as nodes in the statistics dtype, and evaluated.
ValueId scale_and_shift(Builder& b, const Node& node, ValueId y);
void scale_and_shift(const EvalArgs& args, RefTensor& y);

// Sets the gradient of an operand from one with the shape of the norm's result, in the statistics dtype.
void set_norm_gradient(VjpArgs& args, size_t i, ValueId gradient);

// The larger of two numbers; NaN where either is.
inline double larger(double a, double b) { return a > b || a != a ? a : b; }

// e = exp(x − m) and its row sum, m the row's maximum: the stable beginning of softmax and log-sum-exp. A dead row
// (every element −∞) has m = −∞; where `dead_rows_vanish` it is shifted by 0 instead, which makes e and the sum 0.
struct ShiftedExp {
  ValueId shift;    // m
  ValueId shifted;  // x − m
  ValueId exp;
  ValueId sum;
};
ShiftedExp shifted_exp(Builder& b, ValueId x, size_t axis, bool dead_rows_vanish);

}  // namespace stepc
