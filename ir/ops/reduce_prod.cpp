#include "ir/ops/reduction.h"

namespace stepc {

namespace {

// y = Π x; dx_i = dy · the product of the others
//
// With p the product of the nonzero elements and z the number of zeros that is p / x_i where nothing is zero, p where
// x_i is the only zero, else 0. Without a division by zero: p / (x_i == 0 ? 1 : x_i) where z == [x_i == 0], else 0.
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId x = args.in(0);
  const std::vector<int64_t>& axes = args.node().attrs.integers("axes");
  const ValueId dy = with_reduced_axes(b, args.node(), args.grad());
  const ValueId zero = b.binary(Op::equal, x, b.scalar_like(0, x));
  const ValueId zero_count = b.cast(zero, b.dtype(x));
  const ValueId zeros = b.reduce_sum(zero_count, axes, /*keepdims=*/true);
  const ValueId nonzero = b.select(zero, b.scalar_like(1, x), x);
  const ValueId product = b.reduce(Op::reduce_prod, nonzero, axes, /*keepdims=*/true);
  const ValueId others = b.div(b.mul(dy, product), nonzero);
  args.set(0, b.select(b.binary(Op::equal, zeros, zero_count), others, b.scalar_like(0, x)));
}

double product(double a, double b) { return a * b; }
int64_t product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

void eval(const EvalArgs& args) {
  evaluate_reduction(args, 1, 1, [](auto a, auto b) { return product(a, b); });
}

}  // namespace

constinit const OpDef op_reduce_prod = {
    .name = "reduce_prod",
    .kind = OpKind::reduction,
    .attrs = {{{"axes", AttrKind::integers}, {"keepdims", AttrKind::boolean}}},
    .infer = infer_number_reduction,
    .vjp = vjp,
    .flops = reduction_flops,
    .eval = eval,
};

}  // namespace stepc
