// Gradients where differences say nothing: ties, infinities, rows without a live element, losses without a label.
#include "tests/ops/op_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::IsNan;
using testing::Pointwise;

constexpr double kInf = std::numeric_limits<double>::infinity();

RefTensor matrix(const Shape& shape, std::vector<double> values) { return reals(Dtype::f64, shape, std::move(values)); }

// The gradient of operand 0 where result 0 has gradient `dy`.
std::vector<double> gradient(const Sample& sample, std::vector<double> dy) {
  OpCase c(sample);
  std::vector<std::optional<RefTensor>> cotangents(c.graph.node(c.node).outputs.size());
  cotangents[0] = matrix(c.graph.shape(c.graph.node(c.node).outputs[0]), std::move(dy));
  c.add_vjp(cotangents, {0});
  return c.gradients().at(0).value().real;
}

Sample reduction(Op op, RefTensor x, Dims axes) {
  return {op, "", {std::move(x)}, {{"axes", std::move(axes)}, {"keepdims", false}}};
}

TEST(SpecialGradients, MaximumAlongOneAxisGoesToTheFirstOfEqualElements) {
  const RefTensor x = matrix({2, 3}, {2, 5, 5, -1, -1, -4});
  EXPECT_THAT(gradient(reduction(Op::reduce_max, x, {1}), {3, 7}), ElementsAre(0, 3, 0, 7, 0, 0));
  EXPECT_THAT(gradient(reduction(Op::reduce_min, x, {0}), {1, 2, 3}), ElementsAre(0, 0, 0, 1, 2, 3));
}

TEST(SpecialGradients, MaximumOverSeveralAxesIsSharedByEqualElements) {
  const RefTensor x = matrix({2, 2}, {5, 1, 5, 2});
  EXPECT_THAT(gradient(reduction(Op::reduce_max, x, {0, 1}), {4}), ElementsAre(2, 0, 2, 0));
  EXPECT_THAT(gradient(reduction(Op::reduce_min, x, {0, 1}), {4}), ElementsAre(0, 4, 0, 0));
}

TEST(SpecialGradients, EmptyMaximumHasNoElementToTakeIt) {
  EXPECT_TRUE(gradient(reduction(Op::reduce_max, matrix({2, 0}, {}), {1}), {1, 1}).empty());
}

TEST(SpecialGradients, ProductWithZeros) {
  EXPECT_THAT(gradient(reduction(Op::reduce_prod, matrix({3, 3}, {2, 0, 5, 0, 3, 0, 2, 3, 4}), {1}), {10, 10, 10}),
              ElementsAre(0, 100, 0, 0, 0, 0, 120, 80, 60));
}

Sample softmax(RefTensor x, bool zero_dead_rows) {
  return {Op::softmax, "", {std::move(x)}, {{"axis", int64_t{1}}, {"zero_dead_rows", zero_dead_rows}}};
}

TEST(SpecialGradients, ExcludedElementsOfSoftmaxReceiveNothing) {
  EXPECT_THAT(gradient(softmax(matrix({1, 3}, {-kInf, 2, 2}), false), {7, 1, 3}), ElementsAre(0, -0.5, 0.5));
}

TEST(SpecialGradients, DeadRowOfSoftmax) {
  const RefTensor x = matrix({2, 2}, {-kInf, -kInf, 0, 0});
  EXPECT_THAT(gradient(softmax(x, true), {1, 2, 1, 2}), ElementsAre(0, 0, -0.25, 0.25));
  const std::vector<double> plain = gradient(softmax(x, false), {1, 2, 1, 2});
  EXPECT_TRUE(std::isnan(plain[0]) && std::isnan(plain[1]));
}

Sample cross_entropy(RefTensor x, std::vector<int64_t> labels, const char* reduction) {
  const auto rows = static_cast<int64_t>(labels.size());
  return {Op::cross_entropy,
          "",
          {std::move(x), integers(Dtype::i64, {rows}, std::move(labels))},
          {{"reduction", std::string(reduction)}}};
}

TEST(SpecialGradients, LossWithoutACountedLabelHasNone) {
  const Sample sample = cross_entropy(matrix({2, 2}, {1, 2, 3, 4}), {-100, -100}, "mean");
  EXPECT_THAT(OpCase(sample).evaluate()[0].real, ElementsAre(IsNan()));
  EXPECT_THAT(gradient(sample, {1}), Each(0));
}

TEST(SpecialGradients, IgnoredRowsMayHoldAnything) {
  const Sample sample = cross_entropy(matrix({2, 2}, {std::nan(""), kInf, 3, 3}), {-100, 1}, "mean");
  EXPECT_THAT(gradient(sample, {2}), Pointwise(DoubleNear(1e-15), {0.0, 0.0, 1.0, -1.0}));
}

TEST(SpecialGradients, LossOfHostileLogits) {
  const RefTensor x = matrix({3, 3}, {1e4, -1e4, 0, -kInf, 2, -kInf, 1e4, 1e4, -kInf});
  // exp(x − lse) carries the rounding error of numbers near 1e4.
  EXPECT_THAT(gradient(cross_entropy(x, {0, 1, 0}, "sum"), {1}),
              Pointwise(DoubleNear(1e-11), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5, 0.5, 0.0}));
}

// One query of two is dead, whatever excludes its keys: it receives no gradient, and gives the keys none.
TEST(SpecialGradients, DeadQueryOfAttention) {
  const Shape rows{1, 1, 2, 1};
  const auto excluded_by = [&](std::optional<RefTensor> mask, bool causal) {
    Sample sample{Op::attention,
                  "",
                  {matrix(rows, {2, 3}), matrix(rows, {1, 5}), matrix(rows, {4, 8})},
                  {{"scale", 0.0}, {"causal", causal}, {"causal_offset", int64_t{-1}}}};
    if (mask) sample.operands.push_back(std::move(mask));
    OpCase c(sample);
    const std::vector<RefTensor> results = c.evaluate();
    c.add_vjp({matrix(rows, {1, 1}), std::nullopt}, {0, 1, 2});
    return std::pair(results[0].real, c.gradients().at(2).value().real);
  };
  const auto [mean_of_both, to_both] = excluded_by(matrix({2, 2}, {-kInf, -kInf, 0, 0}), false);
  EXPECT_THAT(mean_of_both, ElementsAre(0, 6));
  EXPECT_THAT(to_both, ElementsAre(0.5, 0.5));
  const auto [first, to_first] = excluded_by(std::nullopt, true);
  EXPECT_THAT(first, ElementsAre(0, 4));
  EXPECT_THAT(to_first, ElementsAre(1, 0));
}

}  // namespace
}  // namespace stepc::test
