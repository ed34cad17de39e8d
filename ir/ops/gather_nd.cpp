#include "ir/builder.h"
#include "ir/ops/movement.h"
#include "ir/support/error.h"

// ONNX GatherND: the last axis of `indices` holds index tuples; each takes the slice data[tuple...], within its batch
// where batch_dims > 0.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const int64_t batch_dims = args.attrs.integer("batch_dims");
  if (batch_dims < 0) user_error("batch_dims is {}", batch_dims);
  return {Type{args.in(0).dtype, indexed_slices_shape(args.in(0), args.in(1), static_cast<size_t>(batch_dims))}};
}

// Index tuples that name the batch coordinates too, so that no batch dims are left.
ValueId full_tuples(Builder& b, ValueId indices, int64_t batch_dims) {
  const size_t last = b.shape(indices).rank() - 1;
  Dims dims = b.shape(indices).dims();
  dims[last] = 1;
  std::vector<ValueId> parts;
  for (int64_t i = 0; i < batch_dims; ++i)
    parts.push_back(b.iota(b.dtype(indices), Shape(dims), static_cast<size_t>(i)));
  parts.push_back(indices);
  return b.concat(std::move(parts), last);
}

// ddata = zeros with the slices of g added where they came from
void vjp(VjpArgs& v) {
  if (!v.needs(0)) return;
  const ValueId tuples = full_tuples(v.b, v.in(1), v.node().attrs.integer("batch_dims"));
  v.set(0, v.b.make(Op::scatter_nd, {v.b.zeros_like(v.in(0)), tuples, v.grad()}, {{"reduction", "add"}}));
}

void eval(const EvalArgs& args) {
  const Shape& data = args.in(0).type.shape;
  const Shape& indices = args.in(1).type.shape;
  const auto batch_dims = static_cast<size_t>(args.node.attrs.integer("batch_dims"));
  int64_t slice = 1;
  for (size_t i = batch_dims + static_cast<size_t>(indices[indices.rank() - 1]); i < data.rank(); ++i) slice *= data[i];
  for_each_indexed_slice(data, args.in(1), batch_dims, [&](int64_t k, int64_t offset) {
    for (int64_t i = 0; i < slice; ++i) args.outputs[0].copy(k * slice + i, args.in(0), offset + i);
  });
}

}  // namespace

constinit const OpDef op_gather_nd{
    .name = "gather_nd",
    .kind = OpKind::movement,
    .min_inputs = 2,
    .max_inputs = 2,
    .attrs = {{{"batch_dims", AttrKind::integer, false, 0}}},
    .infer = infer,
    .vjp = vjp,
    .bytes = gather_bytes,
    .eval = eval,
};

}  // namespace stepc
