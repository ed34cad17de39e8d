#include "ir/op_def.h"
#include "ir/support/error.h"

// The tensor in Node::constant.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  if (args.constant == nullptr) user_error("no tensor is given");
  return {args.constant->type()};
}

void eval(const EvalArgs& args) { args.outputs[0] = RefTensor(args.node.constant->view()); }

}  // namespace

constinit const OpDef op_constant{
    .name = "constant",
    .kind = OpKind::source,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer,
    .eval = eval,
};

}  // namespace stepc
