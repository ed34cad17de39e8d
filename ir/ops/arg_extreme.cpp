#include "ir/ops/arg_extreme.h"

#include "ir/ops/index_space.h"
#include "ir/ops/movement.h"
#include "ir/support/error.h"

#include <array>
#include <cmath>

namespace stepc {
namespace {

// Whether element a displaces element b as the extreme.
bool displaces(const RefTensor& x, int64_t a, int64_t b, bool maximum) {
  const auto ia = static_cast<size_t>(a);
  const auto ib = static_cast<size_t>(b);
  if (!x.is_real()) return maximum ? x.integer[ia] > x.integer[ib] : x.integer[ia] < x.integer[ib];
  if (std::isnan(x.real[ia])) return !std::isnan(x.real[ib]);
  return maximum ? x.real[ia] > x.real[ib] : x.real[ia] < x.real[ib];
}

}  // namespace

std::vector<Type> infer_arg_extreme(const InferArgs& args) {
  const Type& x = args.in(0);
  const size_t axis = axis_of(args, x.shape.rank());
  if (x.dtype == Dtype::boolean) user_error("bools are not ordered; cast them first");
  const std::array axes{static_cast<int64_t>(axis)};
  Shape result = reduce(x.shape, axes, args.attrs.flag("keepdims"));
  if (x.shape[axis] == 0 && result.numel() > 0) user_error("axis {} of {} is empty", axis, to_string(x.shape));
  return {Type{Dtype::i64, std::move(result)}};
}

int64_t arg_extreme_flops(const Graph& graph, const Node& node) { return graph.shape(node.inputs[0]).numel(); }

void eval_arg_extreme(const EvalArgs& args, bool maximum) {
  const RefTensor& x = args.in(0);
  const AxisView view(x.type.shape, static_cast<size_t>(args.node.attrs.integer("axis")));
  const bool last = args.node.attrs.flag("select_last_index");
  for (int64_t outer = 0; outer < view.outer_count; ++outer)
    for (int64_t inner = 0; inner < view.inner_count; ++inner) {
      int64_t best = last ? view.size - 1 : 0;
      for (int64_t step = 1; step < view.size; ++step) {
        const int64_t k = last ? view.size - 1 - step : step;
        if (displaces(x, view.index(outer, k, inner), view.index(outer, best, inner), maximum)) best = k;
      }
      args.outputs[0].integer[static_cast<size_t>(outer * view.inner_count + inner)] = best;
    }
}

}  // namespace stepc
