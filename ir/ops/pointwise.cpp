#include "ir/ops/pointwise.h"

#include "ir/support/checked.h"

#include <algorithm>

namespace stepc {
namespace {

void require_float(const InferArgs& args) {
  for (const Type* type : args.inputs)
    if (!is_float(type->dtype)) user_error("operands must be floats, not {}", dtype_name(type->dtype));
}

void require_number(const InferArgs& args) {
  for (const Type* type : args.inputs)
    if (type->dtype == Dtype::boolean) user_error("operands must be numbers, not bool; cast them first");
}

// The node's scalar expression over its own operands.
struct Expression {
  ScalarDag dag;
  ScalarId root;
};

Expression expression(const Graph& graph, const Node& node) {
  Expression e;
  std::vector<ScalarId> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    operands.push_back(e.dag.operand(static_cast<int32_t>(i), graph.dtype(node.inputs[i])));
  e.root = op_def(node.op).scalar(e.dag, node, operands, graph.dtype(node.outputs[0]));
  return e;
}

ValueId build(Builder& b, const ScalarNode& scalar, const Node& node, const std::vector<ValueId>& done) {
  if (scalar.op == ScalarOp::operand) return node.inputs[static_cast<size_t>(scalar.operand)];
  if (scalar.op == ScalarOp::literal) return b.scalar(scalar.literal, scalar.dtype);
  std::vector<ValueId> operands;
  for (int i = 0; i < scalar_arity(scalar.op); ++i)
    operands.push_back(done[static_cast<size_t>(scalar.args[static_cast<size_t>(i)].index)]);
  if (scalar.op == ScalarOp::cast) return b.cast(operands[0], scalar.dtype);
  if (scalar.op == ScalarOp::mod) return b.make(Op::mod, std::move(operands), {{"fmod", true}});
  const std::optional<Op> op = op_from_name(scalar_op_name(scalar.op));
  CHECK(op.has_value(), "no operation for {}", scalar_op_name(scalar.op));
  return b.make(*op, std::move(operands));
}

}  // namespace

std::vector<Type> infer_float_unary(const InferArgs& args) {
  require_float(args);
  return infer_same(args);
}

std::vector<Type> infer_number_unary(const InferArgs& args) {
  require_number(args);
  return infer_same(args);
}

std::vector<Type> infer_float_test(const InferArgs& args) {
  require_float(args);
  return {Type{Dtype::boolean, args.in(0).shape}};
}

std::vector<Type> infer_number_binary(const InferArgs& args) {
  require_number(args);
  return infer_broadcast(args);
}

std::vector<Type> infer_order(const InferArgs& args) {
  require_number(args);
  return infer_broadcast_bool(args);
}

std::vector<Type> infer_logical(const InferArgs& args) {
  for (const Type* type : args.inputs)
    if (type->dtype != Dtype::boolean) user_error("operands must be bool, not {}", dtype_name(type->dtype));
  return infer_broadcast_bool(args);
}

int64_t pointwise_flops(const Graph& graph, const Node& node) {
  const Expression e = expression(graph, node);
  int64_t per_element = 0;
  for (const ScalarNode& scalar : e.dag.nodes()) per_element += scalar_flops(scalar.op);
  return checked_mul(per_element, graph.shape(node.outputs[0]).numel());
}

void set_summed(VjpArgs& v, size_t i, ValueId gradient) { v.set(i, v.b.sum_to(gradient, v.b.shape(v.in(i)))); }

void larger_or_smaller_vjp(VjpArgs& v, bool larger) {
  const ValueId zero = v.b.scalar_like(0, v.grad());
  const ValueId half = v.b.mul(v.grad(), 0.5);
  const ValueId tie = v.b.binary(Op::equal, v.in(0), v.in(1));
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!v.needs(i)) continue;
    const ValueId loses = v.b.binary(Op::less, v.in(larger ? i : 1 - i), v.in(larger ? 1 - i : i));
    set_summed(v, i, v.b.select(loses, zero, v.b.select(tie, half, v.grad())));
  }
}

std::vector<ValueId> decompose_scalar(Builder& b, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Expression e = expression(graph, node);
  std::vector<ValueId> done;
  for (const ScalarNode& scalar : e.dag.nodes()) done.push_back(build(b, scalar, node, done));
  return {done[static_cast<size_t>(e.root.index)]};
}

}  // namespace stepc
