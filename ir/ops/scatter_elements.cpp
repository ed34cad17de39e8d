#include "ir/builder.h"
#include "ir/ops/movement.h"
#include "ir/support/error.h"

// ONNX ScatterElements: result = data with data[i][indices[i][j][k]][k] (for axis 1) overwritten by updates[i][j][k],
// or combined with it. With reduction none the indices must differ; where they do not, evaluation keeps the last
// update.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& data = args.in(0);
  check_element_indices(data, args.in(1), axis_of(args, data.shape.rank()));
  check_reduction(args);
  const Type expected{data.dtype, args.in(1).shape};
  if (args.in(2) != expected) user_error("updates are {}, expected {}", to_string(args.in(2)), to_string(expected));
  return {data};
}

// none: ddata = g with zeros at the indices; add: ddata = g. Both: dupdates = g at the indices.
void vjp(VjpArgs& v) {
  const Attrs attrs = v.node().attrs;
  const std::string& reduction = attrs.text("reduction");
  if (reduction != "none" && reduction != "add")
    user_error("scatter_elements: reduction {} is not differentiable here, only none and add are", reduction);
  if (v.needs(0))
    v.set(0, reduction == "add" ? v.grad()
                                : v.b.make(Op::scatter_elements, {v.grad(), v.in(1), v.b.zeros_like(v.in(2))}, attrs));
  if (v.needs(2)) v.set(2, v.b.make(Op::gather_elements, {v.grad(), v.in(1)}, {{"axis", attrs.integer("axis")}}));
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  out = args.in(0);
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  const Combine combine = combine_of(args.node.attrs.text("reduction"), out.type.dtype);
  for_each_indexed_element(out.type.shape, args.in(1), axis,
                           [&](int64_t k, int64_t offset) { combine(out, offset, args.in(2), k); });
}

}  // namespace

constinit const OpDef op_scatter_elements{
    .name = "scatter_elements",
    .kind = OpKind::movement,
    .min_inputs = 3,
    .max_inputs = 3,
    .attrs = {{{"axis", AttrKind::integer}, {"reduction", AttrKind::text}}},
    .infer = infer,
    .vjp = vjp,
    .flops = scatter_flops,
    .eval = eval,
};

}  // namespace stepc
