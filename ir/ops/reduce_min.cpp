#include "ir/ops/reduction.h"

#include <limits>

namespace stepc {

namespace {

// y = min x; NaN where any element is NaN. An empty minimum is the highest value of the dtype (+∞ for floats).

// Over one axis dx = dy at the index of the minimum; over several the elements that equal it share dy evenly.
void vjp(VjpArgs& args) { extremum_vjp(args, Op::arg_min); }

void eval(const EvalArgs& args) {
  evaluate_reduction(args, std::numeric_limits<double>::infinity(), highest_integer(args.in(0).type.dtype),
                     [](auto a, auto b) { return a < b || a != a ? a : b; });
}

}  // namespace

constinit const OpDef op_reduce_min = {
    .name = "reduce_min",
    .kind = OpKind::reduction,
    .attrs = {{{"axes", AttrKind::integers}, {"keepdims", AttrKind::boolean}}},
    .infer = infer_reduction,
    .vjp = vjp,
    .flops = reduction_flops,
    .eval = eval,
};

}  // namespace stepc
