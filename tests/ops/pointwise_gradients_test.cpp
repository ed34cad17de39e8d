// Gradients of pointwise and movement operations where differences say nothing: ties, kinks, infinities, integers.
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "tests/ops/op_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

using testing::ElementsAre;
using testing::IsNan;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RefTensor row(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return reals(Dtype::f64, {size}, std::move(values));
}

std::vector<double> gradient(const Sample& sample, size_t operand) {
  return ones_gradients(sample).at(operand).value().real;
}

// x ** exponent with the exponent a constant of the graph, as importers make it.
OpCase constant_power(double exponent) {
  Sample sample{.op = Op::pow, .operands = {row({-2, 0, 3})}};
  sample.make = [exponent](Builder& b, const std::vector<ValueId>& x) {
    return b.make_node(Op::pow, {x[0], b.expand(b.scalar(exponent, Dtype::f64), {3})});
  };
  OpCase c(sample);
  c.add_vjp({row({1, 1, 1})}, {0});
  return c;
}

bool has_node(const Graph& graph, Op op) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    if (graph.node(id).op == op && graph.node(id).origin.phase == Phase::backward) return true;
  return false;
}

TEST(PointwiseGradients, TiesOfMaximumAndMinimumShareEvenly) {
  for (const Op op : {Op::maximum, Op::minimum}) {
    const Sample sample{.op = op, .operands = {row({1, 2, 3}), row({1, 3, 2})}};
    const bool maximum = op == Op::maximum;
    EXPECT_THAT(gradient(sample, 0), ElementsAre(0.5, maximum ? 0 : 1, maximum ? 1 : 0));
    EXPECT_THAT(gradient(sample, 1), ElementsAre(0.5, maximum ? 1 : 0, maximum ? 0 : 1));
  }
}

TEST(PointwiseGradients, KinksFollowPyTorch) {
  EXPECT_THAT(gradient({.op = Op::relu, .operands = {row({-1, 0, 1})}}, 0), ElementsAre(0, 0, 1));
  EXPECT_THAT(gradient({.op = Op::abs, .operands = {row({-1, 0, 1})}}, 0), ElementsAre(-1, 0, 1));
}

// Where(mask, -inf, score) is in every masked attention: 0 · inf would be NaN.
TEST(PointwiseGradients, SelectNeverMultipliesByItsCondition) {
  const Sample sample{
      .op = Op::select,
      .operands = {integers(Dtype::boolean, {3}, {1, 0, 0}), row({-kInf, kNan, 1}), row({kNan, 2, -kInf})}};
  EXPECT_THAT(gradient(sample, 1), ElementsAre(1, 0, 0));
  EXPECT_THAT(gradient(sample, 2), ElementsAre(0, 1, 1));
}

TEST(PointwiseGradients, ConstantExponentsNeedNoLogarithm) {
  EXPECT_THAT(constant_power(2).gradients().at(0)->real, ElementsAre(-4, 0, 6));
  EXPECT_THAT(constant_power(3).gradients().at(0)->real, ElementsAre(12, 0, 27));
  EXPECT_THAT(constant_power(1).gradients().at(0)->real, ElementsAre(1, 1, 1));
  EXPECT_THAT(constant_power(-1).gradients().at(0)->real, ElementsAre(-0.25, -kInf, -1.0 / 9));
  EXPECT_FALSE(constant_power(0).gradients().at(0).has_value());  // none: zero
  for (const double exponent : {1.0, 2.0, 3.0, -1.0, 0.5}) {
    EXPECT_FALSE(has_node(constant_power(exponent).graph, Op::log)) << exponent;
    EXPECT_EQ(has_node(constant_power(exponent).graph, Op::pow), exponent < 1) << exponent;
  }
}

TEST(PointwiseGradients, ExponentGradientIsZeroAtBaseZero) {
  const Sample sample{.op = Op::pow, .operands = {row({0, 2, -1}), row({2, 3, 2})}};
  EXPECT_THAT(gradient(sample, 1), ElementsAre(0, 8 * std::log(2.0), IsNan()));
  EXPECT_THAT(gradient({.op = Op::pow, .operands = {row({0, 5}), row({0, 0})}}, 0), ElementsAre(0, 0));
}

TEST(PointwiseGradients, CastsToIntegersStopThem) {
  Sample sample{.op = Op::cast, .operands = {row({1.5})}, .attrs = {{"to", Dtype::f32}}};
  EXPECT_TRUE(ones_gradients(sample).at(0).has_value());
  for (const Op op : {Op::floor, Op::ceil, Op::round, Op::sign})
    EXPECT_FALSE(ones_gradients({.op = op, .operands = {row({1.5})}}).at(0).has_value()) << op_name(op);
  sample = {.op = Op::cast, .operands = {integers(Dtype::i64, {1}, {1})}, .attrs = {{"to", Dtype::f64}}};
  EXPECT_FALSE(ones_gradients(sample).at(0).has_value());
}

TEST(MovementGradients, EqualIndicesAccumulate) {
  const Sample sample{.op = Op::gather,
                      .operands = {row({1, 2, 3}), integers(Dtype::i64, {4}, {0, -3, 2, 0})},
                      .attrs = {{"axis", int64_t{0}}}};
  EXPECT_THAT(gradient(sample, 0), ElementsAre(3, 0, 1));
}

TEST(MovementGradients, OverwrittenElementsReceiveNone) {
  const Sample sample{.op = Op::scatter_nd,
                      .operands = {row({1, 2, 3}), integers(Dtype::i64, {1, 1}, {-1}), row({9})},
                      .attrs = {{"reduction", "none"}}};
  EXPECT_THAT(gradient(sample, 0), ElementsAre(1, 1, 0));
  EXPECT_THAT(gradient(sample, 2), ElementsAre(1));
}

TEST(MovementGradients, OtherReductionsAreRefusedByName) {
  for (const char* reduction : {"mul", "max", "min"}) {
    const Sample sample{.op = Op::scatter_nd,
                        .operands = {row({1}), integers(Dtype::i64, {1, 1}, {0}), row({9})},
                        .attrs = {{"reduction", reduction}}};
    EXPECT_THROW(ones_gradients(sample), UserError) << reduction;
  }
}

}  // namespace
}  // namespace stepc::test
