#include "ir/ops/reduction.h"

#include <limits>

namespace stepc {

namespace {

// y = max x; NaN where any element is NaN. An empty maximum is the lowest value of the dtype (-∞ for floats).

// Over one axis dx = dy at the index of the maximum; over several the elements that equal it share dy evenly.
void vjp(VjpArgs& args) { extremum_vjp(args, Op::arg_max); }

void eval(const EvalArgs& args) {
  evaluate_reduction(args, -std::numeric_limits<double>::infinity(), lowest_integer(args.in(0).type.dtype),
                     [](auto a, auto b) { return a > b || a != a ? a : b; });
}

}  // namespace

constinit const OpDef op_reduce_max = {
    .name = "reduce_max",
    .kind = OpKind::reduction,
    .attrs = {{{"axes", AttrKind::integers}, {"keepdims", AttrKind::boolean}}},
    .infer = infer_reduction,
    .vjp = vjp,
    .flops = reduction_flops,
    .eval = eval,
};

}  // namespace stepc
