#include "ir/builder.h"

#include "ir/support/error.h"

#include <algorithm>
#include <numeric>

namespace stepc {
namespace {

// Gathers types and runs the shape rule. `inputs` may hold kNoValue for omitted operands.
std::vector<Type> infer(const Graph& graph, Node& node) {
  complete_attrs(node.op, node.inputs.size(), node.attrs);
  std::vector<const Type*> types;
  types.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) types.push_back(input.valid() ? &graph.type(input) : nullptr);
  return infer_types(InferArgs{node.op, types, node.attrs, node.constant.get(), node.body.get()});
}

}  // namespace

NodeId Builder::insert(Node node) {
  std::vector<Type> types = infer(graph_, node);
  node.origin = origin_;
  return graph_.insert(std::move(node), std::move(types), before_);
}

NodeId Builder::make_node(Op op, std::vector<ValueId> inputs, Attrs attrs) {
  return insert(Node{op, std::move(inputs), {}, std::move(attrs), {}, nullptr, nullptr});
}

ValueId Builder::make(Op op, std::vector<ValueId> inputs, Attrs attrs) {
  return graph_.node(make_node(op, std::move(inputs), std::move(attrs))).outputs[0];
}

NodeId Builder::make_fused(std::vector<ValueId> inputs, Graph body) {
  return insert(Node{Op::fused, std::move(inputs), {}, {}, {}, nullptr, std::make_unique<Graph>(std::move(body))});
}

ValueId Builder::constant(Tensor tensor) {
  Node node{Op::constant, {}, {}, {}, {}, std::make_unique<Tensor>(std::move(tensor)), nullptr};
  return graph_.node(insert(std::move(node))).outputs[0];
}

ValueId Builder::scalar(double value, Dtype dtype) { return constant(Tensor::scalar(dtype, value)); }

ValueId Builder::full(double value, const Type& type) { return expand(scalar(value, type.dtype), type.shape); }

ValueId Builder::iota(Dtype dtype, const Shape& shape, size_t axis) {
  return make(Op::iota, {}, {{"dtype", dtype}, {"shape", shape.dims()}, {"axis", static_cast<int64_t>(axis)}});
}

ValueId Builder::cast(ValueId a, Dtype to) { return dtype(a) == to ? a : make(Op::cast, {a}, {{"to", to}}); }

ValueId Builder::reshape(ValueId a, const Shape& shape) {
  return this->shape(a) == shape ? a : make(Op::reshape, {a}, {{"shape", shape.dims()}});
}

ValueId Builder::transpose(ValueId a, std::vector<int64_t> perm) {
  return std::is_sorted(perm.begin(), perm.end()) && perm.size() == shape(a).rank()
             ? a
             : make(Op::transpose, {a}, {{"perm", std::move(perm)}});
}

ValueId Builder::expand(ValueId a, const Shape& shape) {
  return this->shape(a) == shape ? a : make(Op::expand, {a}, {{"shape", shape.dims()}});
}

ValueId Builder::slice(ValueId a, Dims starts, Dims sizes, Dims steps) {
  for (size_t i = 0; i < std::min(sizes.size(), steps.size()); ++i)
    if (sizes[i] < 2) steps[i] = 1;  // any step is the same
  return make(Op::slice, {a},
              {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}});
}

ValueId Builder::slice_axis(ValueId a, size_t axis, int64_t start, int64_t size) {
  Dims starts(shape(a).rank(), 0);
  Dims sizes = shape(a).dims();
  Dims steps(shape(a).rank(), 1);
  if (start == 0 && size == sizes[axis]) return a;
  starts[axis] = start;
  sizes[axis] = size;
  return slice(a, std::move(starts), std::move(sizes), std::move(steps));
}

ValueId Builder::unsqueeze(ValueId a, size_t axis) {
  Dims dims = shape(a).dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return reshape(a, Shape(std::move(dims)));
}

ValueId Builder::squeeze(ValueId a, size_t axis) {
  Dims dims = shape(a).dims();
  if (dims[axis] != 1) user_error("cannot squeeze axis {} of {}: its size is not 1", axis, to_string(shape(a)));
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return reshape(a, Shape(std::move(dims)));
}

ValueId Builder::concat(std::vector<ValueId> parts, size_t axis) {
  if (parts.size() == 1) return parts[0];
  return make(Op::concat, std::move(parts), {{"axis", static_cast<int64_t>(axis)}});
}

ValueId Builder::pad(ValueId a, Dims low, Dims high, Dims interior, double value) {
  return make(
      Op::pad, {a},
      {{"low", std::move(low)}, {"high", std::move(high)}, {"interior", std::move(interior)}, {"value", value}});
}

ValueId Builder::gather(ValueId data, ValueId indices, size_t axis) {
  return make(Op::gather, {data, indices}, {{"axis", static_cast<int64_t>(axis)}});
}

ValueId Builder::reduce(Op op, ValueId a, std::vector<int64_t> axes, bool keepdims) {
  if (axes.empty()) return a;
  return make(op, {a}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

ValueId Builder::sum_to(ValueId a, const Shape& target) {
  const Shape from = shape(a);
  if (from == target) return a;
  CHECK(broadcasts_to(target, from), "sum {} to {}", to_string(from), to_string(target));
  const size_t skip = from.rank() - target.rank();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.rank(); ++i)
    if (i < skip || (target[i - skip] == 1 && from[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  return reshape(reduce_sum(a, std::move(axes), /*keepdims=*/true), target);
}

ValueId Builder::contraction(ValueId a, ValueId b, std::string_view spec) {
  return make(Op::contraction, {a, b}, {{"spec", std::string(spec)}});
}

ValueId Builder::matmul(ValueId a, ValueId b) {
  const size_t rank_a = shape(a).rank();
  const size_t rank_b = shape(b).rank();
  if (rank_a == 0 || rank_b == 0) user_error("matmul of {} and {}: a scalar", to_string(shape(a)), to_string(shape(b)));
  if (rank_a == 1) return squeeze(matmul(unsqueeze(a, 0), b), std::max<size_t>(rank_b, 2) - 2);
  if (rank_b == 1) return squeeze(matmul(a, unsqueeze(b, 1)), rank_a - 1);

  // Batch dims are labelled from the right. A dim that one operand broadcasts (size 1) is squeezed out of it.
  const size_t batch = std::max(rank_a, rank_b) - 2;
  if (batch > 23) user_error("matmul of rank {}: at most 25 dimensions are supported", batch + 2);
  const auto operand = [&](ValueId v, ValueId other, std::string tail) {
    const Shape own = shape(v);
    const Shape others = shape(other);
    std::string labels;
    Dims dims;
    for (size_t i = 0; i < batch; ++i) {
      const size_t from_end = batch + 2 - i;
      if (from_end > own.rank()) continue;
      const int64_t dim = own[own.rank() - from_end];
      const int64_t other_dim = from_end <= others.rank() ? others[others.rank() - from_end] : 1;
      if (dim != other_dim && dim != 1 && other_dim != 1)
        user_error("matmul of {} and {}: batch dimensions do not broadcast", to_string(own), to_string(others));
      if (dim == 1 && other_dim != 1) continue;
      labels += static_cast<char>('a' + i);
      dims.push_back(dim);
    }
    dims.push_back(own[own.rank() - 2]);
    dims.push_back(own[own.rank() - 1]);
    return std::pair(reshape(v, Shape(std::move(dims))), labels + tail);
  };
  const auto [left, left_labels] = operand(a, b, "xz");
  const auto [right, right_labels] = operand(b, a, "zy");
  std::string result;
  for (size_t i = 0; i < batch; ++i) result += static_cast<char>('a' + i);
  return contraction(left, right, left_labels + "," + right_labels + "->" + result + "xy");
}

}  // namespace stepc
