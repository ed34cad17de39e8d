#include "ir/ops/index_space.h"
#include "ir/ops/rows.h"

#include <cmath>
#include <limits>

namespace stepc {

namespace {

// y = exp(x − m) / Σ exp(x − m) along `axis`, m = max x. A dead row (every element −∞) is NaN, as in IEEE arithmetic
// and PyTorch; with `zero_dead_rows` it is 0 and receives a zero gradient, which is what graphs mean that mask and then
// replace the NaNs by zero (Softmax, IsNaN, Where).

std::vector<Type> infer(const InferArgs& args) {
  row_axis(args);
  return {args.in(0)};
}

// y = exp(x) / Σ exp(x); dx = y · (dy − Σ dy·y). A dead row with y = 0 gets 0.
void vjp(VjpArgs& args) {
  Builder& b = args.b;
  const ValueId y = to_statistics(b, args.out(0));
  const ValueId dy = to_statistics(b, args.grad());
  const ValueId weighted = row_sum(b, b.mul(dy, y), axis_of(args.node()));
  args.set(0, b.cast(b.mul(b.sub(dy, weighted), y), args.graph().dtype(args.in(0))));
}

// Maximum, difference, exponential, sum, quotient.
int64_t flops(const Graph& graph, const Node& node) { return 5 * graph.shape(node.inputs[0]).numel(); }

void eval(const EvalArgs& args) {
  const RefTensor& x = args.in(0);
  std::vector<double>& y = args.outputs[0].real;
  const AxisView view(x.type.shape, axis_of(args.node));
  const bool zero_dead_rows = args.node.attrs.flag("zero_dead_rows");
  for (int64_t outer = 0; outer < view.outer_count; ++outer)
    for (int64_t inner = 0; inner < view.inner_count; ++inner) {
      const auto at = [&](int64_t k) { return static_cast<size_t>(view.index(outer, k, inner)); };
      double maximum = -std::numeric_limits<double>::infinity();
      for (int64_t k = 0; k < view.size; ++k) maximum = larger(maximum, x.real[at(k)]);
      if (zero_dead_rows && maximum == -std::numeric_limits<double>::infinity()) continue;
      double sum = 0;
      for (int64_t k = 0; k < view.size; ++k) sum += y[at(k)] = std::exp(x.real[at(k)] - maximum);
      for (int64_t k = 0; k < view.size; ++k) y[at(k)] /= sum;
    }
}

std::vector<ValueId> decompose(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool zero_dead_rows = node.attrs.flag("zero_dead_rows");
  const ShiftedExp e = shifted_exp(b, to_statistics(b, node.inputs[0]), axis_of(node), zero_dead_rows);
  ValueId sum = e.sum;
  if (zero_dead_rows) {  // the sum of any other row is at least exp(0)
    const ValueId dead = b.binary(Op::equal, sum, b.scalar_like(0, sum));
    sum = b.select(dead, b.scalar_like(1, sum), sum);
  }
  return {b.cast(b.div(e.exp, sum), graph.dtype(node.inputs[0]))};
}

}  // namespace

constinit const OpDef op_softmax = {
    .name = "softmax",
    .kind = OpKind::composite,
    .attrs = {{{"axis", AttrKind::integer}, {"zero_dead_rows", AttrKind::boolean, false}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
    .decompose = decompose,
};

}  // namespace stepc
