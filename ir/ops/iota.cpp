#include "ir/op_def.h"
#include "ir/ops/index_space.h"
#include "ir/support/error.h"

// Each element is its coordinate on `axis`.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Dtype dtype = args.attrs.dtype("dtype");
  const Shape shape(args.attrs.integers("shape"));
  const int64_t axis = args.attrs.integer("axis");
  if (!is_float(dtype) && dtype != Dtype::i64 && dtype != Dtype::i32)
    user_error("dtype {}: coordinates need a float, i32 or i64", dtype_name(dtype));
  if (axis < 0 || axis >= static_cast<int64_t>(shape.rank()))
    user_error("axis {} is out of range for rank {}", axis, shape.rank());
  return {Type{dtype, shape}};
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  int64_t k = 0;
  for_each_point(out.type.shape, [&](const Dims& point) { out.set(k++, static_cast<double>(point[axis])); });
}

}  // namespace

constinit const OpDef op_iota{
    .name = "iota",
    .kind = OpKind::source,
    .min_inputs = 0,
    .max_inputs = 0,
    .attrs = {{{"dtype", AttrKind::dtype}, {"shape", AttrKind::integers}, {"axis", AttrKind::integer}}},
    .infer = infer,
    .eval = eval,
};

}  // namespace stepc
