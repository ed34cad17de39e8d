#pragma once

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/ops/index_space.h"

#include <algorithm>
#include <vector>

namespace stepc {

// What reduce_sum, reduce_max, reduce_min and reduce_prod share. Attributes: `axes`, sorted, non-negative, none of them
// gives the operand itself; `keepdims`.

std::vector<Type> infer_reduction(const InferArgs& args);         // any dtype
std::vector<Type> infer_number_reduction(const InferArgs& args);  // any dtype but bool
int64_t reduction_flops(const Graph& graph, const Node& node);    // one per element of the operand

// `v` has the shape of the node's result; afterwards it has the operand's rank, with size 1 on the reduced axes.
ValueId with_reduced_axes(Builder& b, const Node& node, ValueId v);

// The VJP of a maximum (arg = arg_max) or minimum (arg_min).
void extremum_vjp(VjpArgs& args, Op arg);

// Strides of the result over the operand's coordinates: 0 on the reduced axes.
Dims reduced_strides(const Shape& operand, const std::vector<int64_t>& axes);

// The extreme values of an integer or boolean dtype.
int64_t lowest_integer(Dtype dtype);
int64_t highest_integer(Dtype dtype);

// result[r] = combine over the elements that reduce to r, in row-major order, beginning with the value of an empty
// reduction.
template <typename Combine>
void evaluate_reduction(const EvalArgs& args, double empty_real, int64_t empty_integer, Combine combine) {
  const RefTensor& operand = args.in(0);
  RefTensor& result = args.outputs[0];
  const Shape& shape = operand.type.shape;
  const std::array<Dims, 2> strides = {row_major_strides(shape),
                                       reduced_strides(shape, args.node.attrs.integers("axes"))};
  const auto run = [&](const auto& from, auto& to, auto empty) {
    std::fill(to.begin(), to.end(), empty);
    for_each_offset<2>(shape.dims(), strides, [&](const std::array<int64_t, 2>& at) {
      auto& value = to[static_cast<size_t>(at[1])];
      value = combine(value, from[static_cast<size_t>(at[0])]);
    });
  };
  if (result.is_real())
    run(operand.real, result.real, empty_real);
  else
    run(operand.integer, result.integer, empty_integer);
}

}  // namespace stepc
