#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/support/error.h"

namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  const Shape shape(args.attrs.integers("shape"));
  if (shape.numel() != args.in(0).shape.numel())
    user_error("{} elements of {} do not fill {}", args.in(0).shape.numel(), to_string(args.in(0).shape),
               to_string(shape));
  return {Type{args.in(0).dtype, shape}};
}

// dx = g in the shape of x
void vjp(VjpArgs& v) { v.set(0, v.b.reshape(v.grad(), v.b.shape(v.in(0)))); }

void eval(const EvalArgs& args) {
  args.outputs[0].real = args.in(0).real;
  args.outputs[0].integer = args.in(0).integer;
}

}  // namespace

constinit const OpDef op_reshape{
    .name = "reshape",
    .kind = OpKind::view,
    .attrs = {{{"shape", AttrKind::integers}}},
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
};

}  // namespace stepc
