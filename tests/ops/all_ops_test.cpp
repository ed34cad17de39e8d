// What holds of every operation in ir/ops.def, checked on every sample.
#include "ir/op_def.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "ir/verifier.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace stepc::test {
namespace {

constexpr Op kAllOps[] = {
#define OP(name) Op::name,
#include "ir/ops.def"
#undef OP
};

std::string test_name(Op op, const std::string& label) {
  std::string name = std::string(op_name(op)) + "_" + label;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double v : values) result = std::max(result, std::isfinite(v) ? std::fabs(v) : 0);
  return result;
}

// Equal types, equal integers; floats within `tolerance` of the largest element of `expected` (at least of 1).
void expect_close(const RefTensor& actual, const RefTensor& expected, double tolerance, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(to_string(actual.type), to_string(expected.type));
  EXPECT_EQ(actual.integer, expected.integer);
  const double bound = tolerance * std::max(1.0, largest(expected.real));
  for (size_t i = 0; i < expected.real.size(); ++i) {
    const double a = actual.real[i];
    const double e = expected.real[i];
    if (std::isnan(e) || std::isinf(e))
      EXPECT_TRUE(std::isnan(e) ? std::isnan(a) : a == e) << "element " << i << ": " << a << ", expected " << e;
    else
      EXPECT_NEAR(a, e, bound) << "element " << i;
  }
}

// Random weights of the results, so that Σ cotangent · y is a scalar function of the operands. `only` restricts them to
// one output.
std::vector<std::optional<RefTensor>> cotangents(const std::vector<RefTensor>& outputs, std::optional<size_t> only) {
  std::vector<std::optional<RefTensor>> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    result.emplace_back();
    if (outputs[i].is_real() && (!only || *only == i)) {
      result.back() = spread(outputs[i].type.shape, -1, 1, static_cast<uint32_t>(17 + i));
      result.back()->type.dtype = outputs[i].type.dtype;
    }
  }
  return result;
}

// Σ weight · (above - below). Elements that do not change, infinite ones too, contribute nothing.
double weighted_difference(const std::vector<RefTensor>& above, const std::vector<RefTensor>& below,
                           const std::vector<std::optional<RefTensor>>& weights) {
  double sum = 0;
  for (size_t i = 0; i < above.size(); ++i) {
    if (!weights[i]) continue;
    for (size_t k = 0; k < above[i].real.size(); ++k)
      if (above[i].real[k] != below[i].real[k]) sum += (above[i].real[k] - below[i].real[k]) * weights[i]->real[k];
  }
  return sum;
}

// Central differences: an error of order step², and of 1e-16 / step from rounding.
RefTensor finite_differences(OpCase& c, size_t operand, const std::vector<std::optional<RefTensor>>& weights) {
  RefTensor& x = c.inputs.at(fmt::format("x{}", operand));
  RefTensor gradient(x.type);
  for (size_t i = 0; i < x.real.size(); ++i) {
    const double value = x.real[i];
    const double step = 1e-5 * std::max(1.0, std::fabs(value));
    x.real[i] = value + step;
    const std::vector<RefTensor> above = c.evaluate();
    x.real[i] = value - step;
    const std::vector<RefTensor> below = c.evaluate();
    x.real[i] = value;
    gradient.real[i] = weighted_difference(above, below, weights) / (2 * step);
  }
  return gradient;
}

class EverySample : public testing::TestWithParam<Sample> {};

TEST_P(EverySample, EvaluatesToItsInferredTypes) {
  const Sample& sample = GetParam();
  const OpCase c(sample);
  verify(c.graph);
  const std::vector<RefTensor> results = c.evaluate();
  const Node& node = c.graph.node(c.node);
  ASSERT_EQ(results.size(), node.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(to_string(results[i].type), to_string(c.graph.type(node.outputs[i])));
    const auto count = static_cast<size_t>(results[i].numel());
    EXPECT_EQ(results[i].real.size(), results[i].is_real() ? count : 0);
    EXPECT_EQ(results[i].integer.size(), results[i].is_real() ? 0 : count);
  }
  ASSERT_TRUE(sample.expected.empty() || sample.expected.size() == results.size());
  for (size_t i = 0; i < sample.expected.size(); ++i)
    expect_close(results[i], sample.expected[i], 1e-12, fmt::format("result {}", i));
}

TEST_P(EverySample, CostsNothingNegative) {
  const OpCase c(GetParam());
  const Cost cost = node_cost(c.graph, c.graph.node(c.node));
  EXPECT_GE(cost.flops, 0);
  EXPECT_GE(cost.read_bytes, 0);
  EXPECT_GE(cost.write_bytes, 0);
}

TEST_P(EverySample, GradientsAgreeWithFiniteDifferences) {
  const Sample& sample = GetParam();
  const std::vector<size_t> operands = differentiable(sample);
  OpCase plain(sample);
  const std::vector<RefTensor> results = plain.evaluate();
  const auto floats = std::count_if(results.begin(), results.end(), [](const RefTensor& r) { return r.is_real(); });
  if (operands.empty() || floats == 0) return;

  std::vector<std::optional<size_t>> directions{std::nullopt};
  for (size_t i = 0; floats > 1 && i < results.size(); ++i)
    if (results[i].is_real()) directions.emplace_back(i);
  std::vector<std::vector<size_t>> wanted{operands};
  if (operands.size() > 1)
    for (const size_t operand : operands) wanted.push_back({operand});

  for (const std::optional<size_t>& direction : directions) {
    const auto weights = cotangents(results, direction);
    std::vector<std::optional<RefTensor>> expected(sample.operands.size());
    for (const size_t operand : operands) expected[operand] = finite_differences(plain, operand, weights);
    for (const std::vector<size_t>& needed : wanted) {
      OpCase c(sample);
      c.add_vjp(weights, needed);
      verify(c.graph);
      const auto gradients = c.gradients();
      for (const size_t operand : needed) {
        // One output alone may not depend on an operand: no gradient then means zero.
        if (direction && !gradients[operand]) {
          EXPECT_LT(largest(expected[operand]->real), sample.tolerance) << "no gradient for operand " << operand;
          continue;
        }
        ASSERT_TRUE(gradients[operand]) << "no gradient for operand " << operand;
        expect_close(*gradients[operand], *expected[operand], sample.tolerance,
                     fmt::format("gradient of operand {} of {}, output {}", operand, needed.size(),
                                 direction ? std::to_string(*direction) : "all"));
      }
    }
  }
}

TEST_P(EverySample, DecompositionAgrees) {
  const Sample& sample = GetParam();
  if (op_def(sample.op).decompose == nullptr) return;
  OpCase c(sample);
  const std::vector<RefTensor> results = c.evaluate();
  Builder b(c.graph);
  const std::vector<ValueId> parts = op_def(sample.op).decompose(b, c.graph, c.node);
  ASSERT_EQ(parts.size(), results.size());
  for (size_t i = 0; i < parts.size(); ++i)
    c.graph.add_output(parts[i], OutputRole::output, fmt::format("decomposed{}", i));
  verify(c.graph);
  const Interpretation run = interpret(c.graph, c.inputs, RefPrecision::f64);
  for (size_t i = 0; i < parts.size(); ++i)
    expect_close(run.outputs.at(fmt::format("decomposed{}", i)), results[i], sample.tolerance,
                 fmt::format("result {}", i));
}

// The text form keeps everything, of the node and of its VJP.
TEST_P(EverySample, PrintsAndParses) {
  const Sample& sample = GetParam();
  OpCase c(sample);
  if (!differentiable(sample).empty()) c.add_vjp(cotangents(c.evaluate(), std::nullopt), differentiable(sample));
  ConstantMemory constants;
  const std::string text = print(c.graph, &constants);
  const Graph parsed = parse(text, {.file = "sample", .constants = &constants});
  EXPECT_EQ(print(parsed, &constants), text);
}

// Room for some hundred roundings in f32 and a few in the half precisions.
double rounding_tolerance(Dtype dtype) {
  if (dtype == Dtype::bf16) return 0x1p-7;
  return dtype == Dtype::f16 ? 0x1p-9 : 2e-5;
}

// The same node on f32: types and VJP hold, and results rounded to f32 stay near.
TEST_P(EverySample, WorksInSinglePrecision) {
  Sample sample = GetParam();
  if (sample.make) return;
  const std::vector<RefTensor> exact = OpCase(sample).evaluate();
  const std::vector<size_t> operands = differentiable(sample);
  for (std::optional<RefTensor>& operand : sample.operands)
    if (operand && operand->type.dtype == Dtype::f64) operand->type.dtype = Dtype::f32;
  for (const auto& [key, value] : Attrs(sample.attrs))
    if (value == AttrValue(Dtype::f64)) sample.attrs.set(key, Dtype::f32);
  for (auto& [name, tensor] : OpCase(sample).inputs)
    if (auto& operand = sample.operands[std::stoul(name.substr(1))]; operand) operand->round_to_dtype();

  OpCase c(sample);
  const std::vector<RefTensor> rounded = c.evaluate(RefPrecision::f32);
  for (size_t i = 0; i < exact.size(); ++i) {
    RefTensor expected = exact[i];
    if (expected.type.dtype == Dtype::f64) expected.type.dtype = Dtype::f32;
    for (double& value : expected.real)
      if (std::fabs(value) > 3e38) value = std::copysign(INFINITY, value);
    expect_close(rounded[i], expected, rounding_tolerance(expected.type.dtype), fmt::format("result {}", i));
  }
  if (operands.empty()) return;
  c.add_vjp(cotangents(rounded, std::nullopt), operands);
  verify(c.graph);
}

INSTANTIATE_TEST_SUITE_P(AllOps, EverySample, testing::ValuesIn(all_samples()),
                         [](const auto& instance) { return test_name(instance.param.op, instance.param.label); });

class EveryRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(EveryRefusal, IsAUserErrorThatSaysWhy) {
  const Refusal& refusal = GetParam();
  try {
    OpCase({.op = refusal.op, .operands = refusal.operands, .attrs = refusal.attrs}).evaluate();
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(refusal.message), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, EveryRefusal, testing::ValuesIn(all_refusals()),
                         [](const auto& instance) { return test_name(instance.param.op, instance.param.label); });

TEST(OpRegistry, EveryOperationHasASample) {
  std::set<Op> sampled;
  for (const Sample& sample : all_samples()) sampled.insert(sample.op);
  for (const Op op : kAllOps)
    EXPECT_TRUE(sampled.count(op)) << op_name(op) << " has no sample in tests/ops/samples_*.cpp";
}

TEST(OpRegistry, DefinitionsAreComplete) {
  for (const Op op : kAllOps) {
    const OpDef& def = op_def(op);
    SCOPED_TRACE(op_name(op));
    EXPECT_EQ(def.name, op_name(op));
    EXPECT_EQ(op_from_name(def.name), op);
    EXPECT_NE(def.infer, nullptr);
    // One scalar expression is what evaluation, decomposition and kernels use: there is no second definition to differ.
    EXPECT_EQ(def.kind == OpKind::pointwise, def.scalar != nullptr);
    EXPECT_NE(def.eval == nullptr, def.scalar == nullptr);
    EXPECT_EQ(def.kind == OpKind::composite && def.decompose == nullptr, false);
  }
}

}  // namespace
}  // namespace stepc::test
