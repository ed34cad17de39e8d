#include "ir/builder.h"
#include "ir/ops/index_space.h"
#include "ir/ops/movement.h"
#include "ir/support/checked.h"

namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& first = args.in(0);
  const size_t axis = axis_of(args, first.shape.rank());
  Dims dims = first.shape.dims();
  for (size_t i = 1; i < args.inputs.size(); ++i) {
    if (!args.has(i)) user_error("operand {} is required", i);
    const Type& part = args.in(i);
    Dims matching = part.shape.dims();
    if (matching.size() == dims.size()) matching[axis] = dims[axis];
    if (part.dtype != first.dtype || matching != dims)
      user_error("{} and {} do not fit together on axis {}", to_string(first), to_string(part), axis);
    dims[axis] = checked_add(dims[axis], part.shape[axis]);
  }
  return {Type{first.dtype, Shape(std::move(dims))}};
}

// dx_i = the slice of g where x_i went
void vjp(VjpArgs& v) {
  const auto axis = static_cast<size_t>(v.node().attrs.integer("axis"));
  int64_t start = 0;
  for (size_t i = 0; i < v.node().inputs.size(); ++i) {
    const int64_t size = v.b.shape(v.in(i))[axis];
    if (v.needs(i)) v.set(i, v.b.slice_axis(v.grad(), axis, start, size));
    start += size;
  }
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  const AxisView to(out.type.shape, axis);
  int64_t start = 0;
  for (const RefTensor* part : args.inputs) {
    const AxisView from(part->type.shape, axis);
    for (int64_t outer = 0; outer < from.outer_count; ++outer)
      for (int64_t k = 0; k < from.size; ++k)
        for (int64_t inner = 0; inner < from.inner_count; ++inner)
          out.copy(to.index(outer, start + k, inner), *part, from.index(outer, k, inner));
    start += from.size;
  }
}

}  // namespace

constinit const OpDef op_concat{
    .name = "concat",
    .kind = OpKind::movement,
    .max_inputs = -1,
    .attrs = {{{"axis", AttrKind::integer}}},
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
};

}  // namespace stepc
