#include "ir/interpreter.h"
#include "ir/op_def.h"
#include "ir/support/checked.h"
#include "ir/support/error.h"

#include <set>

// fused(a, b, ...) {body}: one kernel. Operand i is the body's input i; the results are the body's outputs. A value is
// the same whether its node stands in a body or in the graph around it.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  CHECK(args.body != nullptr, "fused without body");
  const Graph& body = *args.body;
  if (args.inputs.size() != body.inputs().size())
    user_error("{} operands for the body's {} inputs", args.inputs.size(), body.inputs().size());
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    if (!args.has(i)) user_error("operand {} is omitted", i);
    const Type& inner = body.type(body.inputs()[i].value);
    if (args.in(i) != inner)
      user_error("operand {} is {}, the body takes {}", i, to_string(args.in(i)), to_string(inner));
  }
  if (body.outputs().empty()) user_error("the body has no output");
  if (!body.states().empty()) user_error("the body has a state");
  std::vector<Type> types;
  for (const GraphOutput& output : body.outputs()) types.push_back(body.type(output.value));
  return types;
}

int64_t flops(const Graph&, const Node& node) {
  int64_t sum = 0;
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
    sum = checked_add(sum, node_cost(*node.body, node.body->node(id)).flops);
  return sum;
}

void eval(const EvalArgs& args) {
  std::vector<RefTensor> results = run_body(*args.node.body, args.inputs, args.round_floats);
  for (size_t i = 0; i < results.size(); ++i) args.outputs[i] = std::move(results[i]);
}

}  // namespace

constinit const OpDef op_fused{
    .name = "fused",
    .kind = OpKind::fused,
    .min_inputs = 0,
    .max_inputs = -1,
    .outputs = -1,
    .infer = infer,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
