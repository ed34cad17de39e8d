#include "ir/builder.h"
#include "ir/ops/index_space.h"
#include "ir/ops/movement.h"

// numpy.take: one slice of `data` at `axis` per index; negative indices count from the end.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& data = args.in(0);
  const size_t axis = axis_of(args, data.shape.rank());
  require_indices(args.in(1));
  return {Type{data.dtype, gather_shape(data.shape, args.in(1).shape, axis)}};
}

// ddata = zeros with g added at the indices; an index that occurs twice receives both
void vjp(VjpArgs& v) {
  if (v.needs(0)) v.set(0, v.b.make(Op::scatter_add, {v.b.zeros_like(v.in(0)), v.in(1), v.grad()}, v.node().attrs));
}

void eval(const EvalArgs& args) {
  const RefTensor& indices = args.in(1);
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  const AxisView data(args.in(0).type.shape, axis);
  int64_t k = 0;
  for (int64_t outer = 0; outer < data.outer_count; ++outer)
    for (const int64_t index : indices.integer)
      for (int64_t inner = 0; inner < data.inner_count; ++inner)
        args.outputs[0].copy(k++, args.in(0), data.index(outer, resolve_index(index, data.size, axis), inner));
}

}  // namespace

constinit const OpDef op_gather{
    .name = "gather",
    .kind = OpKind::movement,
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = {{{"axis", AttrKind::integer}}},
    .infer = infer,
    .vjp = vjp,
    .bytes = gather_bytes,
    .eval = eval,
};

}  // namespace stepc
