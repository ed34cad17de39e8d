#include "ir/ops/index_space.h"
#include "ir/ops/view.h"
#include "ir/support/checked.h"
#include "ir/uniform_constant.h"

#include <algorithm>

// `low` and `high` elements around each axis and `interior` ones between neighbours, all equal to `value`.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& x = args.in(0);
  const Dims& low = per_axis(args, "low", x.shape.rank());
  const Dims& high = per_axis(args, "high", x.shape.rank());
  const Dims& interior = per_axis(args, "interior", x.shape.rank());
  const double value = args.attrs.real("value");
  if (!is_float(x.dtype) && !holds_exactly(x.dtype, value)) user_error("value {} is no {}", value, dtype_name(x.dtype));
  Dims dims(x.shape.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    checked_add(interior[i], 1);  // the step from one element to the next
    if (low[i] < 0 || high[i] < 0 || interior[i] < 0)
      user_error("negative padding on axis {}: low {}, high {}, interior {}", i, low[i], high[i], interior[i]);
    const int64_t gaps = checked_mul(std::max<int64_t>(x.shape[i] - 1, 0), interior[i]);
    dims[i] = checked_add(checked_add(low[i], high[i]), checked_add(x.shape[i], gaps));
  }
  return {Type{x.dtype, Shape(std::move(dims))}};
}

Dims steps_of(const Attrs& attrs) {
  Dims steps = attrs.integers("interior");
  for (int64_t& step : steps) ++step;
  return steps;
}

// dx = the elements of g where those of x went
void vjp(VjpArgs& v) {
  const Attrs& attrs = v.node().attrs;
  v.set(0, v.b.slice(v.grad(), attrs.integers("low"), v.b.shape(v.in(0)).dims(), steps_of(attrs)));
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  const Attrs& attrs = args.node.attrs;
  for (int64_t i = 0; i < out.numel(); ++i) out.set(i, attrs.real("value"));
  const Dims& low = attrs.integers("low");
  const Dims steps = steps_of(attrs);
  const Dims strides = row_major_strides(out.type.shape);
  int64_t k = 0;
  for_each_point(args.in(0).type.shape, [&](const Dims& point) {
    int64_t target = 0;
    for (size_t i = 0; i < point.size(); ++i) target += (low[i] + point[i] * steps[i]) * strides[i];
    out.copy(target, args.in(0), k++);
  });
}

}  // namespace

constinit const OpDef op_pad{
    .name = "pad",
    .kind = OpKind::movement,
    .attrs = {{{"low", AttrKind::integers},
               {"high", AttrKind::integers},
               {"interior", AttrKind::integers},
               {"value", AttrKind::real}}},
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
};

}  // namespace stepc
