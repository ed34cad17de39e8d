// Products of 16-bit operands against the reference interpreter: orders of the operands, sizes around the blocks, axes
// that do not merge, sums over several axes.
#include "ir/builder.h"
#include "ir/kernel.h"
#include "ir/layout.h"
#include "tests/runtime/run_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace stepc::test {
namespace {

struct ProductCase {
  std::string spec;
  Shape a, b;
};

const std::vector<ProductCase>& cases() {
  static const std::vector<ProductCase> list{
      {"mk,kn->mn", {1, 1}, {1, 1}},
      {"mk,kn->mn", {5, 7}, {7, 11}},
      {"km,kn->mn", {7, 5}, {7, 11}},
      {"mk,nk->mn", {5, 7}, {11, 7}},
      {"km,nk->mn", {7, 5}, {11, 7}},
      {"mk,kn->nm", {5, 7}, {7, 11}},
      {"mk,kn->mn", {1025, 3}, {3, 2}},
      {"mk,kn->mn", {2, 3}, {3, 1025}},
      {"bmk,bkn->bmn", {3, 5, 7}, {3, 7, 11}},
      {"bsm,bsn->mn", {3, 8, 5}, {3, 8, 11}},
      {"bhsd,bhtd->bhst", {2, 3, 4, 5}, {2, 3, 6, 5}},
      {"bsm,sbn->mn", {3, 8, 5}, {8, 3, 11}},
  };
  return list;
}

// Each case in both types, and whether the library carries it.
void check(Dtype dtype, double tolerance) {
  Graph graph;
  Builder b(graph);
  Tensors inputs;
  for (size_t i = 0; i < cases().size(); ++i) {
    const auto input = [&](const char* side, const Shape& shape, uint64_t seed) {
      const std::string name = fmt::format("{}{}", side, i);
      inputs.emplace(name, pseudo_random({dtype, shape}, seed));
      return graph.add_input({dtype, shape}, InputRole::data, name);
    };
    const ValueId product = b.contraction(input("a", cases()[i].a, 1), input("b", cases()[i].b, 2), cases()[i].spec);
    graph.add_output(product, OutputRole::output, fmt::format("{}", i));
    const Layouts layouts(graph);
    EXPECT_EQ(describe_kernel(graph, graph.value(product).producer, layouts_of(layouts)).kind, KernelKind::contraction)
        << cases()[i].spec;
  }
  const auto expected = run_on_interpreter(graph, inputs);
  for (const auto& [name, tensor] : run_on_cpu(graph, inputs)) {
    const RefTensor actual(tensor.view());
    const RefTensor& reference = expected.at(name);
    for (int64_t i = 0; i < actual.numel(); ++i)
      ASSERT_LE(std::abs(actual.at(i) - reference.at(i)), tolerance * std::max(1.0, std::abs(reference.at(i))))
          << cases()[std::stoul(name)].spec << " at " << i;
  }
}

TEST(LowMatmul, Bf16RoundsOnce) { check(Dtype::bf16, 0x1p-8); }
TEST(LowMatmul, F16RoundsOnce) { check(Dtype::f16, 0x1p-11); }

}  // namespace
}  // namespace stepc::test
