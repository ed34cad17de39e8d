// Contractions and convolutions on the CPU as a build without oneDNN has them, against the interpreter.
#include "ir/builder.h"
#include "runtime/cpu/scratch.h"
#include "tests/runtime/run_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepc::test {
namespace {

class GeneratedProducts : public testing::TestWithParam<int64_t> {
 protected:
  ValueId input(const Shape& shape) {
    const std::string name = fmt::format("{}", inputs_.size());
    inputs_.emplace(name, pseudo_random({Dtype::f32, shape}, static_cast<uint32_t>(inputs_.size() + 1)));
    return graph_.add_input({Dtype::f32, shape}, InputRole::data, name);
  }
  void output(ValueId value) {
    graph_.add_output(value, OutputRole::output, fmt::format("{}", graph_.outputs().size()));
  }
  void expect_agreement() {
    const Plan plan = plain_plan(graph_, CpuScratch(2, cpu::Products::generated));
    const cpu::Program program = cpu::generate(graph_, plan, cpu::Products::generated);
    const Tensors outputs = run_program(graph_, plan, program, test_kernels(program.functions), inputs_);
    const auto expected = run_on_interpreter(graph_, inputs_);
    for (const auto& [name, tensor] : outputs)
      for (int64_t i = 0; i < tensor.type().shape.numel(); ++i) {
        const double want = expected.at(name).at(i);
        ASSERT_NEAR(element(tensor.view(), i), want, 1e-4 * std::max(1.0, std::fabs(want))) << name << " at " << i;
      }
  }

  Graph graph_;
  Builder b_{graph_};
  Tensors inputs_;
};

// Tiles are 96 by 96 by 256.
TEST_P(GeneratedProducts, Contractions) {
  const int64_t n = GetParam();
  const ValueId a = input({n, 33});
  output(b_.matmul(a, input({33, n})));
  output(b_.contraction(a, input({n, 33}), "ki,kj->ij"));
  output(b_.contraction(input({3, 5, n}), input({3, n, 2}), "bik,bkj->bij"));
  output(b_.contraction(input({2, n, 4}), input({2, 3, 4}), "bik,bjk->ij"));
  expect_agreement();
}

TEST_P(GeneratedProducts, ConvolutionsAndTheirGradients) {
  const int64_t n = GetParam();
  Attrs attrs{{"strides", std::vector<int64_t>{2, 1}},
              {"dilations", std::vector<int64_t>{1, 2}},
              {"pads", std::vector<int64_t>{1, 0, 2, 1}},
              {"group", int64_t{2}}};
  const ValueId x = input({2, 4, n, 5}), w = input({6, 2, 3, 2});
  const ValueId y = b_.make(Op::conv, {x, w, input({6})}, attrs);
  const ValueId g = input(graph_.shape(y));
  output(y);
  attrs.set("weight_shape", graph_.shape(w).dims());
  output(b_.make(Op::conv_backward_weight, {x, g}, attrs));
  expect_agreement();
}

INSTANTIATE_TEST_SUITE_P(Sizes, GeneratedProducts, testing::Values(0, 1, 7, 95, 96, 97, 257));

}  // namespace
}  // namespace stepc::test
