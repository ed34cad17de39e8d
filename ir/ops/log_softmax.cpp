#include "ir/ops/index_space.h"
#include "ir/ops/rows.h"

#include <cmath>
#include <limits>

namespace stepc {

namespace {

// y = (x − m) − log Σ exp(x − m) along `axis`, m = max x. A row of −∞ is NaN.

std::vector<Type> infer(const InferArgs& args) {
  row_axis(args);
  return {args.in(0)};
}

// y = x − log Σ exp(x); dx = dy − exp(y) · Σ dy
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId dy = to_statistics(b, args.grad());
  const ValueId softmax = b.unary(Op::exp, to_statistics(b, args.out(0)));
  const ValueId total = row_sum(b, dy, axis_of(args.node()));
  args.set(0, b.cast(b.sub(dy, b.mul(softmax, total)), args.graph().dtype(args.in(0))));
}

// Maximum, difference, exponential, sum, difference.
int64_t flops(const Graph& graph, const Node& node) { return 5 * graph.shape(node.inputs[0]).numel(); }

void eval(const EvalArgs& args) {
  const RefTensor& x = args.in(0);
  std::vector<double>& y = args.outputs[0].real;
  const AxisView view(x.type.shape, axis_of(args.node));
  for (int64_t outer = 0; outer < view.outer_count; ++outer)
    for (int64_t inner = 0; inner < view.inner_count; ++inner) {
      const auto at = [&](int64_t k) { return static_cast<size_t>(view.index(outer, k, inner)); };
      double maximum = -std::numeric_limits<double>::infinity();
      for (int64_t k = 0; k < view.size; ++k) maximum = larger(maximum, x.real[at(k)]);
      double sum = 0;
      for (int64_t k = 0; k < view.size; ++k) sum += std::exp(x.real[at(k)] - maximum);
      for (int64_t k = 0; k < view.size; ++k) y[at(k)] = x.real[at(k)] - maximum - std::log(sum);
    }
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId x = node.inputs[0];
  const ShiftedExp e = shifted_exp(b, to_statistics(b, x), axis_of(node), /*dead_rows_vanish=*/false);
  return {b.cast(b.sub(e.shifted, b.unary(Op::log, e.sum)), graph.dtype(x))};
}

}  // namespace

constinit const OpDef op_log_softmax = {
    .name = "log_softmax",
    .kind = OpKind::composite,
    .attrs = {{{"axis", AttrKind::integer}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
