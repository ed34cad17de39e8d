#include "ir/builder.h"
#include "ir/ops/index_space.h"
#include "ir/ops/movement.h"
#include "ir/support/checked.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

// The k largest (or smallest) elements along `axis`, and where they are. Equal elements: the lower index first. NaN is
// greater than every number, as in PyTorch. Evaluation sorts whether `sorted` asks for it or not.
namespace stepc {
namespace {

// Strictly greater in PyTorch's order, where NaN is greater than every number. False for equal elements.
bool element_greater(const RefTensor& tensor, int64_t a, int64_t b) {
  if (!tensor.is_real()) return tensor.integer[static_cast<size_t>(a)] > tensor.integer[static_cast<size_t>(b)];
  const double x = tensor.real[static_cast<size_t>(a)];
  const double y = tensor.real[static_cast<size_t>(b)];
  return std::isnan(x) ? !std::isnan(y) : x > y;
}

std::vector<Type> infer(const InferArgs& args) {
  const Type& data = args.in(0);
  const size_t axis = axis_of(args, data.shape.rank());
  const int64_t k = args.attrs.integer("k");
  if (data.dtype == Dtype::boolean) user_error("bools are not ordered; cast them first");
  if (k < 0 || k > data.shape[axis]) user_error("k is {} for axis {} of size {}", k, axis, data.shape[axis]);
  Dims dims = data.shape.dims();
  dims[axis] = k;
  return {Type{data.dtype, Shape(dims)}, Type{Dtype::i64, Shape(dims)}};
}

// ddata = zeros with g put back at the indices
void vjp(VjpArgs& v) {
  if (!v.grad(0).valid()) return;
  const int64_t axis = v.node().attrs.integer("axis");
  v.set(0, v.b.make(Op::scatter_elements, {v.b.zeros_like(v.in(0)), v.out(1), v.grad(0)},
                    {{"axis", axis}, {"reduction", "add"}}));
}

// A comparison per element and level of a heap of k elements.
int64_t flops(const Graph& graph, const Node& node) {
  const auto k = static_cast<uint64_t>(node.attrs.integer("k"));
  return checked_mul(graph.shape(node.inputs[0]).numel(), std::bit_width(k));
}

void eval(const EvalArgs& args) {
  const RefTensor& data = args.in(0);
  RefTensor& values = args.outputs[0];
  RefTensor& indices = args.outputs[1];
  const auto axis = static_cast<size_t>(args.node.attrs.integer("axis"));
  const bool largest = args.node.attrs.flag("largest");
  const AxisView from(data.type.shape, axis);
  const AxisView to(values.type.shape, axis);
  std::vector<int64_t> order(static_cast<size_t>(from.size));
  for (int64_t outer = 0; outer < from.outer_count; ++outer)
    for (int64_t inner = 0; inner < from.inner_count; ++inner) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const int64_t x = from.index(outer, largest ? a : b, inner);
        const int64_t y = from.index(outer, largest ? b : a, inner);
        return element_greater(data, x, y);
      });
      for (int64_t k = 0; k < to.size; ++k) {
        const int64_t best = order[static_cast<size_t>(k)];
        values.copy(to.index(outer, k, inner), data, from.index(outer, best, inner));
        indices.integer[static_cast<size_t>(to.index(outer, k, inner))] = best;
      }
    }
}

}  // namespace

constinit const OpDef op_top_k{
    .name = "top_k",
    .kind = OpKind::reduction,
    .outputs = 2,
    .attrs = {{{"k", AttrKind::integer},
               {"axis", AttrKind::integer},
               {"largest", AttrKind::boolean, false, 1},
               {"sorted", AttrKind::boolean, false, 1}}},
    .infer = infer,
    .vjp = vjp,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
