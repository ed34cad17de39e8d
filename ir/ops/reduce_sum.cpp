#include "ir/ops/reduction.h"

namespace stepc {

namespace {

// y = Σ x  ⇒  dx = dy, on every element of the sum.
void vjp(VjpArgs& args) {
  const ValueId dy = with_reduced_axes(args.b, args.node(), args.grad());
  args.set(0, args.b.expand(dy, args.graph().shape(args.in(0))));
}

double sum(double a, double b) { return a + b; }
int64_t sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

void eval(const EvalArgs& args) {
  evaluate_reduction(args, 0, 0, [](auto a, auto b) { return sum(a, b); });
}

}  // namespace

constinit const OpDef op_reduce_sum = {
    .name = "reduce_sum",
    .kind = OpKind::reduction,
    .attrs = {{{"axes", AttrKind::integers}, {"keepdims", AttrKind::boolean}}},
    .infer = infer_number_reduction,
    .vjp = vjp,
    .flops = reduction_flops,
    .eval = eval,
};

}  // namespace stepc
