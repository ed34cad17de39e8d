#include "ir/ops/pointwise.h"
#include "ir/support/error.h"

namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Dtype dtype = args.in(1).dtype;
  if (args.in(0).dtype != Dtype::boolean) user_error("the condition is {}, not bool", dtype_name(args.in(0).dtype));
  if (args.in(2).dtype != dtype)
    user_error("the two choices have dtypes {} and {}", dtype_name(dtype), dtype_name(args.in(2).dtype));
  const Shape choices = broadcast_shapes(args.in(1).shape, args.in(2).shape);
  return {Type{dtype, broadcast_shapes(args.in(0).shape, choices)}};
}

ScalarId scalar(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> x, Dtype /*result*/) {
  return dag.select(x[0], x[1], x[2]);
}

// y = c ? a : b; da = c ? g : 0, db = c ? 0 : g. Never g · c: the side not taken may be infinite
void vjp(VjpArgs& v) {
  const ValueId zero = v.b.scalar_like(0, v.grad());
  if (v.needs(1)) set_summed(v, 1, v.b.select(v.in(0), v.grad(), zero));
  if (v.needs(2)) set_summed(v, 2, v.b.select(v.in(0), zero, v.grad()));
}

}  // namespace

constinit const OpDef op_select{
    .name = "select",
    .kind = OpKind::pointwise,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .vjp = vjp,
    .flops = pointwise_flops,
    .scalar = scalar,
};

}  // namespace stepc
