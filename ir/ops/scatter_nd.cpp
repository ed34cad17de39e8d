#include "ir/builder.h"
#include "ir/ops/movement.h"
#include "ir/support/error.h"

// ONNX ScatterND: the last axis of `indices` holds index tuples; the slice data[tuple...] is overwritten by the
// matching slice of `updates`, or combined with it. With reduction none the tuples must differ; where they do not,
// evaluation keeps the last update.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Type& data = args.in(0);
  check_reduction(args);
  const Type expected{data.dtype, indexed_slices_shape(data, args.in(1), 0)};
  if (args.in(2) != expected) user_error("updates are {}, expected {}", to_string(args.in(2)), to_string(expected));
  return {data};
}

// none: ddata = g with zeros at the tuples; add: ddata = g. Both: dupdates = g at the tuples.
void vjp(VjpArgs& v) {
  const Attrs attrs = v.node().attrs;
  const std::string& reduction = attrs.text("reduction");
  if (reduction != "none" && reduction != "add")
    user_error("scatter_nd: reduction {} is not differentiable here, only none and add are", reduction);
  if (v.needs(0))
    v.set(0, reduction == "add" ? v.grad()
                                : v.b.make(Op::scatter_nd, {v.grad(), v.in(1), v.b.zeros_like(v.in(2))}, attrs));
  if (v.needs(2)) v.set(2, v.b.make(Op::gather_nd, {v.grad(), v.in(1)}, {{"batch_dims", int64_t{0}}}));
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  out = args.in(0);
  const Combine combine = combine_of(args.node.attrs.text("reduction"), out.type.dtype);
  const Shape& indices = args.in(1).type.shape;
  int64_t slice = 1;
  for (size_t i = static_cast<size_t>(indices[indices.rank() - 1]); i < out.type.shape.rank(); ++i)
    slice *= out.type.shape[i];
  for_each_indexed_slice(out.type.shape, args.in(1), 0, [&](int64_t k, int64_t offset) {
    for (int64_t i = 0; i < slice; ++i) combine(out, offset + i, args.in(2), k * slice + i);
  });
}

}  // namespace

constinit const OpDef op_scatter_nd{
    .name = "scatter_nd",
    .kind = OpKind::movement,
    .min_inputs = 3,
    .max_inputs = 3,
    .attrs = {{{"reduction", AttrKind::text}}},
    .infer = infer,
    .vjp = vjp,
    .flops = scatter_flops,
    .eval = eval,
};

}  // namespace stepc
