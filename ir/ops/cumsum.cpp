#include "ir/builder.h"
#include "ir/ops/index_space.h"
#include "ir/ops/movement.h"
#include "ir/support/error.h"

// Running sums along `axis`: y[k] = Σ x[j] over j <= k; `exclusive`: j < k; `reverse`: from the end (j >= k, j > k).
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  axis_of(args, args.in(0).shape.rank());
  if (args.in(0).dtype == Dtype::boolean) user_error("bools have no sum; cast them first");
  return infer_same(args);
}

// dx[j] = Σ g[k] over the k that read x[j]: the cumulative sum of g from the other end
void vjp(VjpArgs& v) {
  Attrs attrs = v.node().attrs;
  attrs.set("reverse", !attrs.flag("reverse"));
  v.set(0, v.b.make(Op::cumsum, {v.grad()}, std::move(attrs)));
}

int64_t flops(const Graph& graph, const Node& node) { return graph.shape(node.outputs[0]).numel(); }

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  const RefTensor& x = args.in(0);
  const AxisView view(x.type.shape, static_cast<size_t>(args.node.attrs.integer("axis")));
  const bool exclusive = args.node.attrs.flag("exclusive");
  const bool reverse = args.node.attrs.flag("reverse");
  const Combine add = combine_of("add", x.type.dtype);
  for (int64_t outer = 0; outer < view.outer_count; ++outer)
    for (int64_t inner = 0; inner < view.inner_count; ++inner) {
      RefTensor sum(Type{x.type.dtype, Shape()});
      for (int64_t k = 0; k < view.size; ++k) {
        const int64_t element = view.index(outer, reverse ? view.size - 1 - k : k, inner);
        if (exclusive) out.copy(element, sum, 0);
        add(sum, 0, x, element);
        if (!exclusive) out.copy(element, sum, 0);
      }
    }
}

}  // namespace

constinit const OpDef op_cumsum{
    .name = "cumsum",
    .kind = OpKind::reduction,
    .attrs = {{{"axis", AttrKind::integer},
               {"exclusive", AttrKind::boolean, false, 0},
               {"reverse", AttrKind::boolean, false, 0}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
