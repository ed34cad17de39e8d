#pragma once

#include "ir/graph.h"
#include "ir/op_def.h"

#include <span>
#include <string_view>
#include <vector>

namespace stepc {

// The way nodes are made: infers types, completes attributes, stamps the origin, inserts at one place in the order.
// Throws UserError where operands do not fit, so importers need no checks of their own.
class Builder {
 public:
  explicit Builder(Graph& graph, Origin origin = {}, NodeId before = kNoNode)
      : graph_(graph), origin_(std::move(origin)), before_(before) {}

  Graph& graph() const { return graph_; }
  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  void set_phase(Phase phase) { origin_.phase = phase; }
  void insert_before(NodeId before) { before_ = before; }

  const Type& type(ValueId v) const { return graph_.type(v); }
  const Shape& shape(ValueId v) const { return graph_.shape(v); }
  Dtype dtype(ValueId v) const { return graph_.dtype(v); }

  // --- any operation
  NodeId make_node(Op op, std::vector<ValueId> inputs, Attrs attrs = {});
  ValueId make(Op op, std::vector<ValueId> inputs, Attrs attrs = {});  // the first output
  NodeId make_fused(std::vector<ValueId> inputs, Graph body);

  // --- sources
  ValueId constant(Tensor tensor);
  ValueId scalar(double value, Dtype dtype);  // rank 0
  ValueId scalar_like(double value, ValueId like) { return scalar(value, dtype(like)); }
  ValueId full(double value, const Type& type);  // an expanded scalar
  ValueId zeros_like(ValueId v) { return full(0, type(v)); }
  ValueId iota(Dtype dtype, const Shape& shape, size_t axis);  // element = its coordinate on `axis`

  // --- pointwise, NumPy broadcasting
  ValueId unary(Op op, ValueId a) { return make(op, {a}); }
  ValueId binary(Op op, ValueId a, ValueId b) { return make(op, {a, b}); }
  ValueId add(ValueId a, ValueId b) { return binary(Op::add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(Op::sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(Op::mul, a, b); }
  ValueId div(ValueId a, ValueId b) { return binary(Op::div, a, b); }
  ValueId neg(ValueId a) { return unary(Op::neg, a); }
  ValueId mul(ValueId a, double factor) { return mul(a, scalar_like(factor, a)); }
  ValueId add(ValueId a, double term) { return add(a, scalar_like(term, a)); }
  ValueId select(ValueId condition, ValueId a, ValueId b) { return make(Op::select, {condition, a, b}); }
  ValueId cast(ValueId a, Dtype to);  // the value itself when it has that dtype

  // --- views
  ValueId reshape(ValueId a, const Shape& shape);           // the value itself when nothing changes
  ValueId transpose(ValueId a, std::vector<int64_t> perm);  // likewise
  ValueId expand(ValueId a, const Shape& shape);            // likewise
  // Elements starts[i] + k*steps[i], k < sizes[i], for every axis; steps may be negative, not zero.
  ValueId slice(ValueId a, Dims starts, Dims sizes, Dims steps);
  ValueId slice_axis(ValueId a, size_t axis, int64_t start, int64_t size);
  ValueId unsqueeze(ValueId a, size_t axis);
  ValueId squeeze(ValueId a, size_t axis);

  // --- movement and reduction
  ValueId concat(std::vector<ValueId> parts, size_t axis);
  // low/high zeros... around each axis, `interior` between elements; negative low or high is refused.
  ValueId pad(ValueId a, Dims low, Dims high, Dims interior, double value);
  ValueId gather(ValueId data, ValueId indices, size_t axis);  // numpy.take; indices in [-dim, dim)
  ValueId reduce(Op op, ValueId a, std::vector<int64_t> axes, bool keepdims);
  ValueId reduce_sum(ValueId a, std::vector<int64_t> axes, bool keepdims) {
    return reduce(Op::reduce_sum, a, std::move(axes), keepdims);
  }
  // Sums a broadcast gradient back to `shape` (the inverse of NumPy broadcasting). The value itself when equal.
  ValueId sum_to(ValueId a, const Shape& shape);

  // --- contraction: an einsum of two operands, e.g. "bhik,bhjk->bhij". Each label occurs at most once per operand;
  // labels of the result come from the operands; labels missing in the result are summed.
  ValueId contraction(ValueId a, ValueId b, std::string_view spec);
  // numpy.matmul for ranks >= 1, through `contraction`; batch dims broadcast.
  ValueId matmul(ValueId a, ValueId b);

 private:
  NodeId insert(Node node);

  Graph& graph_;
  Origin origin_;
  NodeId before_;
};

}  // namespace stepc
