#include "ir/ops/view.h"
#include "ir/support/checked.h"

// result[k] = x[starts + k·steps], per axis; steps may be negative. Where fewer than two elements are taken the step is
// 1 (Builder::slice sees to it): equal slices have equal attributes.
namespace stepc {
namespace {

void check_axis(int64_t start, int64_t size, int64_t step, int64_t dim, size_t axis) {
  if (size < 0) user_error("size {} on axis {}", size, axis);
  if (step == 0 || (size < 2 && step != 1)) user_error("step {} on axis {} for {} elements", step, axis, size);
  const int64_t last = size == 0 ? 0 : checked_add(start, checked_mul(size - 1, step));
  const int64_t limit = size == 0 ? dim + 1 : dim;  // an empty slice may start at the end
  if (start < 0 || start >= limit || last < 0 || last >= limit)
    user_error("{} elements from {} by {} lie outside axis {} of size {}", size, start, step, axis, dim);
}

std::vector<Type> infer(const InferArgs& args) {
  const Shape& shape = args.in(0).shape;
  const Dims& starts = per_axis(args, "starts", shape.rank());
  const Dims& sizes = per_axis(args, "sizes", shape.rank());
  const Dims& steps = per_axis(args, "steps", shape.rank());
  for (size_t i = 0; i < shape.rank(); ++i) check_axis(starts[i], sizes[i], steps[i], shape[i], i);
  return {Type{args.in(0).dtype, Shape(sizes)}};
}

// dx = g put back at starts + k·steps, zero elsewhere
//
// Axes with negative steps are reversed first, so that one pad with `interior` elements between those of g does it.
void vjp(VjpArgs& v) {
  const Shape shape = v.b.shape(v.in(0));
  Dims starts = v.node().attrs.integers("starts");
  const Dims sizes = v.node().attrs.integers("sizes");
  Dims steps = v.node().attrs.integers("steps");
  Dims reverse_starts(shape.rank(), 0), reverse_steps(shape.rank(), 1);
  Dims high(shape.rank()), interior(shape.rank());
  bool reversed = false;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (steps[i] < 0) {
      starts[i] += (sizes[i] - 1) * steps[i];
      steps[i] = -steps[i];
      reverse_starts[i] = sizes[i] - 1;
      reverse_steps[i] = -1;
      reversed = true;
    }
    interior[i] = steps[i] - 1;
    const int64_t extent = sizes[i] == 0 ? 0 : (sizes[i] - 1) * steps[i] + 1;
    high[i] = shape[i] - starts[i] - extent;
  }
  const ValueId ascending = reversed ? v.b.slice(v.grad(), reverse_starts, sizes, reverse_steps) : v.grad();
  v.set(0, v.b.pad(ascending, std::move(starts), std::move(high), std::move(interior), 0));
}

void eval(const EvalArgs& args) {
  const Dims& starts = args.node.attrs.integers("starts");
  const Dims& steps = args.node.attrs.integers("steps");
  Dims strides = row_major_strides(args.in(0).type.shape);
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += starts[i] * strides[i];
    strides[i] *= steps[i];
  }
  read_strided(args.outputs[0], args.in(0), offset, strides);
}

}  // namespace

constinit const OpDef op_slice{
    .name = "slice",
    .kind = OpKind::view,
    .attrs = {{{"starts", AttrKind::integers}, {"sizes", AttrKind::integers}, {"steps", AttrKind::integers}}},
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
};

}  // namespace stepc
