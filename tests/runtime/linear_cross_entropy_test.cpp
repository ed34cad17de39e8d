// Linear cross-entropy kernels against the reference interpreter, the bit rule, and what they plan.
#include "codegen/cpu/program.h"
#include "ir/builder.h"
#include "ir/kernel.h"
#include "ir/support/error.h"
#include "tests/runtime/linear_cross_entropy_cases.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double largest(const RefTensor& tensor) {
  double result = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) result = std::max(result, std::fabs(tensor.at(i)));
  return result;
}

void expect_agreement(const LossCases& cases, const Tensors& outputs, double tolerance) {
  const auto expected = run_on_interpreter(cases.graph, cases.inputs);
  for (const auto& [name, tensor] : outputs) {
    const RefTensor& want = expected.at(name);
    ASSERT_EQ(tensor.type(), want.type) << name;
    const double bound = tolerance * std::max(largest(want), 1e-3);
    for (int64_t i = 0; i < want.numel(); ++i) {
      const double own = element(tensor.view(), i), exact = want.at(i);
      if (std::isnan(exact) ? std::isnan(own) : own == exact) continue;
      ASSERT_LE(std::fabs(own - exact), bound) << name << " element " << i << ": " << own << ", evaluated " << exact;
    }
  }
}

LossCases variants() {
  LossCases cases;
  cases.add({.label = "batch", .rows = {3, 50}, .label_dtype = Dtype::i32});
  cases.add({.label = "shifted", .rows = {3, 50}, .attrs = loss_rules("none"), .shifted = true, .constant = false});
  cases.add({.label = "transposed", .attrs = loss_rules("mean", 0.1), .transposed = true});
  cases.add({.label = "bias", .attrs = loss_rules("sum", 0, 1e-2), .bias = true, .constant = false});
  cases.add({.label = "all", .rows = {3, 50}, .attrs = loss_rules("none", 0.2, 0.1), .bias = true, .shifted = true});
  cases.add({.label = "three chunks", .rows = {700}, .depth = 24, .classes = 130, .bias = true});
  cases.add({.label = "blocks of depth", .rows = {20}, .depth = 700, .classes = 500, .transposed = true});
  cases.add({.label = "sharp", .spread = 5});
  return cases;
}

LossCases odd_sizes() {
  LossCases cases;
  cases.add({.label = "one class", .classes = 1});
  cases.add({.label = "two classes", .classes = 2, .bias = true});
  cases.add({.label = "depth 1", .rows = {17}, .depth = 1, .classes = 33, .transposed = true});
  cases.add({.label = "one row", .rows = {1}, .depth = 257, .classes = 97});
  cases.add({.label = "one of each", .rows = {1}, .depth = 1, .classes = 1});
  cases.add({.label = "no rows", .rows = {0}, .attrs = loss_rules("sum")});
  cases.add({.label = "all ignored", .bias = true, .ignored = true});
  return cases;
}

TEST(LinearCrossEntropy, VariantsAgreeWithEvaluation) {
  const LossCases cases = variants();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(LinearCrossEntropy, OddSizesAgreeWithEvaluation) {
  const LossCases cases = odd_sizes();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

// x and dx in 16 bits; everything else is summed in f32.
TEST(LinearCrossEntropy, LowActivationsAgreeWithEvaluation) {
  for (const auto& [dtype, rounding] : {std::pair(Dtype::bf16, 0x1p-8), std::pair(Dtype::f16, 0x1p-11)}) {
    LossCases cases;
    cases.add({.label = "batch", .rows = {3, 50}, .x_dtype = dtype});
    cases.add({.label = "shifted", .rows = {3, 50}, .attrs = loss_rules("none"), .shifted = true, .x_dtype = dtype});
    cases.add({.label = "chunks", .rows = {700}, .depth = 24, .classes = 130, .bias = true, .x_dtype = dtype});
    cases.add({.label = "blocks", .rows = {20}, .depth = 700, .transposed = true, .x_dtype = dtype});
    Tensors outputs = run_on_cpu(cases.graph, cases.inputs);
    expect_agreement(cases, outputs, rounding);
    std::erase_if(outputs, [](const auto& output) { return output.first.ends_with("/dx"); });
    expect_agreement(cases, outputs, 2e-5);
  }
}

// A NaN or an infinity in x, w or the bias comes out where it does in the evaluation.
TEST(LinearCrossEntropy, SpecialNumbersAgreeWithEvaluation) {
  LossCases cases;
  for (const char* label : {"nan in x", "infinite x", "nan in w", "infinite w", "excluded class"})
    cases.add({.label = label, .attrs = loss_rules("none"), .bias = true});
  set_element(cases.inputs.at("nan in x.x"), 5 * 40 + 7, std::nan(""));
  set_element(cases.inputs.at("infinite x.x"), 5 * 40 + 7, kInf);
  set_element(cases.inputs.at("nan in w.w"), 11 * 40 + 7, std::nan(""));
  set_element(cases.inputs.at("infinite w.w"), 11 * 40 + 7, kInf);
  set_element(cases.inputs.at("excluded class.bias"), 2, -kInf);
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(LinearCrossEntropy, BitsDependNeitherOnRunsNorOnThreads) {
  const LossCases cases = variants();
  const Tensors one = run_on_cpu(cases.graph, cases.inputs, 1);
  for (const int threads : {1, 2, 3}) EXPECT_TRUE(run_on_cpu(cases.graph, cases.inputs, threads) == one) << threads;
}

// The loss and the gradients have the bits that they have as kernels of their own.
TEST(LinearCrossEntropy, BitsDoNotDependOnFusion) {
  const LossCases cases = variants();
  const Tensors outputs = run_on_cpu(cases.graph, cases.inputs);
  size_t compared = 0;
  for (const auto& [name, tensor] : outputs) {
    const size_t at = name.find("/joint/");
    if (at == std::string::npos) continue;
    EXPECT_TRUE(tensor == outputs.at(name.substr(0, at) + "/apart/" + name.substr(at + 7))) << name;
    ++compared;
  }
  EXPECT_EQ(compared * 2, outputs.size());
}

TEST(LinearCrossEntropy, RefusesALabelThatIsNoClass) {
  for (const double label : {200.0, -1.0}) {
    LossCases cases;
    cases.add({.label = "bad"});
    set_element(cases.inputs.at("bad.t"), 60, label);
    EXPECT_THROW(run_on_cpu(cases.graph, cases.inputs), UserError);
  }
}

// --- descriptions

Kernel kernel_of(const Type& x, int64_t classes, bool gradients = true) {
  Graph graph;
  Builder b(graph);
  const int64_t depth = x.shape[x.shape.rank() - 1];
  const Shape rows(Dims(x.shape.begin(), x.shape.end() - 1));
  const ValueId of_x = graph.add_input(x, InputRole::data, "x");
  const ValueId w = graph.add_input({x.dtype, {classes, depth}}, InputRole::data, "w");
  const ValueId t = graph.add_input({Dtype::i64, rows}, InputRole::label, "t");
  Attrs attrs = loss_rules();
  NodeId node;
  if (gradients) {
    for (const char* wanted : {"dx", "dw"}) attrs.set(wanted, true);
    node = b.make_node(Op::linear_cross_entropy_backward, {of_x, w, t, b.scalar(1, Dtype::f32)}, attrs);
  } else {
    node = b.make_node(Op::linear_cross_entropy, {of_x, w, t}, attrs);
  }
  const Layouts layouts(graph);
  if (const auto why = why_no_kernel(graph, node, layouts_of(layouts))) user_error("{}", *why);
  return describe_kernel(graph, node, layouts_of(layouts));
}

TEST(LinearCrossEntropyKernel, ScratchIsAFractionOfTheLogits) {
  const Type x{Dtype::f32, {8, 1024, 768}};
  const int64_t logits = int64_t{8} * 1024 * 50257 * 4;
  const Kernel kernel = kernel_of(x, 50257);
  EXPECT_EQ(kernel.kind, KernelKind::linear_cross_entropy);
  EXPECT_LT(kernel.scratch_bytes, logits / 20);
  EXPECT_LT(kernel_of(x, 50257, false).scratch_bytes, logits / 25);
  // Twice the rows, the same scratch, but for the loss of each row.
  EXPECT_EQ(kernel_of({Dtype::f32, {16, 1024, 768}}, 50257).scratch_bytes - kernel.scratch_bytes, 8 * 1024 * 4);
}

TEST(LinearCrossEntropyKernel, ThreeProducts) {
  const Kernel kernel = kernel_of({Dtype::f32, {1024, 256}}, 9600);
  EXPECT_EQ(kernel.traffic.flops, int64_t{3} * 2 * 1024 * 256 * 9600);
  const int64_t w = 9600 * 256 * 4, x = 1024 * 256 * 4;
  EXPECT_EQ(kernel.traffic.ideal_bytes, 2 * w + 2 * x + 1024 * 8);
}

TEST(LinearCrossEntropyKernel, OffsetsBeyond32BitsAreGenerated) {
  const Kernel kernel = kernel_of({Dtype::f32, {int64_t{1} << 24, 256}}, int64_t{1} << 24);
  EXPECT_THAT(cpu::print_function(kernel).text, testing::HasSubstr(".rows = 16777216, .classes = 16777216"));
}

TEST(LinearCrossEntropyKernel, SaysWhatItDoesNotCarry) {
  const auto why = [](Dtype dtype, int64_t depth, int64_t classes) {
    try {
      kernel_of({dtype, {4, depth}}, classes, false);
      return std::string();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(why(Dtype::f32, 8, 4), "");
  EXPECT_EQ(why(Dtype::bf16, 8, 4), "linear cross-entropy of bf16 and bf16");
  EXPECT_EQ(why(Dtype::f64, 8, 4), "linear cross-entropy of f64 and f64");
  EXPECT_EQ(why(Dtype::f32, 0, 4), "linear cross-entropy over weights [4,0]");
}

}  // namespace
}  // namespace stepc::test
