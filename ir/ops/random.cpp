#include "ir/op_def.h"
#include "ir/philox.h"
#include "ir/support/checked.h"

// Uniform in [0, 1), f32: a pure function of `key`, of the offset (operand 0, i64[]) and of the element's index, so a
// recomputed mask equals the first one.
namespace stepc {
namespace {

std::vector<Type> infer(const InferArgs& args) {
  if (args.in(0) != Type{Dtype::i64, Shape()}) user_error("the offset is {}, not i64[]", to_string(args.in(0)));
  return {Type{Dtype::f32, Shape(args.attrs.integers("shape"))}};
}

// One of the four words of a block: ten rounds of two multiplications, four exclusive ors and two additions.
int64_t flops(const Graph& graph, const Node& node) {
  constexpr int64_t kPerWord = kPhiloxRounds * (2 + 4 + 2) / 4;
  return checked_mul(kPerWord, graph.shape(node.outputs[0]).numel());
}

void eval(const EvalArgs& args) {
  RefTensor& out = args.outputs[0];
  const int64_t key = args.node.attrs.integer("key");
  const int64_t offset = args.in(0).integer[0];
  for (int64_t i = 0; i < out.numel(); ++i)
    out.real[static_cast<size_t>(i)] = philox_uniform(philox_word(key, offset, i));
}

}  // namespace

constinit const OpDef op_random{
    .name = "random",
    .kind = OpKind::source,
    .attrs = {{{"shape", AttrKind::integers}, {"key", AttrKind::integer}}},
    .infer = infer,
    .flops = flops,
    .eval = eval,
};

}  // namespace stepc
