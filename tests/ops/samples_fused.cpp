#include "tests/ops/samples.h"

namespace stepc::test {
namespace {

// p = a · b, s = σ(p) over operands [2,3] and [3]
Graph product_and_sigmoid() {
  Graph body;
  const ValueId a = body.add_input(Type{Dtype::f64, {2, 3}}, InputRole::data, "a");
  const ValueId b = body.add_input(Type{Dtype::f64, {3}}, InputRole::data, "b");
  Builder builder(body);
  const ValueId product = builder.mul(a, b);
  body.add_output(builder.unary(Op::sigmoid, product), OutputRole::output, "s");
  body.add_output(product, OutputRole::output, "p");
  return body;
}

}  // namespace

void fused_samples(std::vector<Sample>& samples, std::vector<Refusal>& /*refusals*/) {
  const auto make = [](Builder& b, const std::vector<ValueId>& operands) {
    return b.make_fused(operands, product_and_sigmoid());
  };
  samples.push_back({.op = Op::fused, .label = "two_outputs", .operands = {spread({2, 3}), spread({3})}, .make = make});
  samples.push_back({.op = Op::fused,
                     .label = "values",
                     .operands = {reals(Dtype::f64, {2, 3}, {0, 1, 2, 3, 4, 5}), reals(Dtype::f64, {3}, {0, 0, 0})},
                     .expected = {reals(Dtype::f64, {2, 3}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}),
                                  reals(Dtype::f64, {2, 3}, {0, 0, 0, 0, 0, 0})},
                     .make = make});
}

}  // namespace stepc::test
