#pragma once

#include "ir/builder.h"
#include "ir/op_def.h"

// Rules that pointwise operations share. All of them broadcast their operands as NumPy does.
namespace stepc {

// --- types
std::vector<Type> infer_float_unary(const InferArgs& args);    // float → same type
std::vector<Type> infer_number_unary(const InferArgs& args);   // float or integer → same type
std::vector<Type> infer_float_test(const InferArgs& args);     // float → bool
std::vector<Type> infer_number_binary(const InferArgs& args);  // one common dtype, not bool
std::vector<Type> infer_order(const InferArgs& args);          // one common dtype, not bool → bool
std::vector<Type> infer_logical(const InferArgs& args);        // bools → bool

// --- cost: the operations of the scalar expression, per element of the result
int64_t pointwise_flops(const Graph& graph, const Node& node);

// --- scalar expressions that are one scalar operation
template <ScalarOp kOp>
ScalarId scalar_unary(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> x, Dtype /*result*/) {
  return dag.unary(kOp, x[0]);
}

template <ScalarOp kOp>
ScalarId scalar_binary(ScalarDag& dag, const Node& /*node*/, std::span<const ScalarId> x, Dtype /*result*/) {
  return dag.binary(kOp, x[0], x[1]);
}

// --- gradients
// Sums `gradient`, which has the shape of the result, to the shape of operand i.
void set_summed(VjpArgs& v, size_t i, ValueId gradient);
// The derivative is zero wherever it exists (steps), as in PyTorch: no gradient is built.
inline void vjp_zero(VjpArgs& /*v*/) {}
// Of the larger (smaller) of two operands: the gradient goes to it, half of it to each where they are equal.
void larger_or_smaller_vjp(VjpArgs& v, bool larger);

// --- decomposition: the scalar expression, each scalar operation as the pointwise operation of the same name
std::vector<ValueId> decompose_scalar(Builder& b, const Graph& graph, NodeId id);

}  // namespace stepc
