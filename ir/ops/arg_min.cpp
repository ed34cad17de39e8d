#include "ir/ops/arg_extreme.h"

namespace stepc {
namespace {

void eval(const EvalArgs& args) { eval_arg_extreme(args, false); }

}  // namespace

constinit const OpDef op_arg_min{
    .name = "arg_min",
    .kind = OpKind::reduction,
    .attrs = kArgExtremeAttrs,
    .infer = infer_arg_extreme,
    .flops = arg_extreme_flops,
    .eval = eval,
};

}  // namespace stepc
