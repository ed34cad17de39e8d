#pragma once

#include "ir/op_def.h"

// arg_max and arg_min: the index of the extreme element along `axis`, the first of equal ones unless
// `select_last_index`. A NaN is the extreme in both, as in PyTorch.
namespace stepc {

std::vector<Type> infer_arg_extreme(const InferArgs& args);
int64_t arg_extreme_flops(const Graph& graph, const Node& node);
void eval_arg_extreme(const EvalArgs& args, bool maximum);

constexpr std::array<AttrSpec, 12> kArgExtremeAttrs{{{"axis", AttrKind::integer},
                                                     {"keepdims", AttrKind::boolean, false, 1},
                                                     {"select_last_index", AttrKind::boolean, false, 0}}};

}  // namespace stepc
