#include "ir/builder.h"
#include "ir/ops/movement.h"

// torch.gather, ONNX GatherElements: result[i][j][k] = data[i][indices[i][j][k]][k] for axis 1.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& data = args.in(0);
  check_element_indices(data, args.in(1), axis_of(args, data.shape.rank()));
  return {Type{data.dtype, args.in(1).shape}};
}

// ddata = zeros with g added at the indices
void vjp(VjpArgs& v) {
  Attrs attrs = v.node().attrs;
  attrs.set("reduction", "add");
  if (v.needs(0))
    v.set(0, v.b.make(Op::scatter_elements, {v.b.zeros_like(v.in(0)), v.in(1), v.grad()}, std::move(attrs)));
}

void eval(const EvalArgs& args) {
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  for_each_indexed_element(args.in(0).type.shape, args.in(1), axis,
                           [&](int64_t k, int64_t offset) { args.outputs[0].copy(k, args.in(0), offset); });
}

}  // namespace

constinit const OpDef op_gather_elements{
    .name = "gather_elements",
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
