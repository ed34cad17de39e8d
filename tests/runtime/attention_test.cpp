// Attention kernels against the reference interpreter, the bit rule, and what is touched.
#include "ir/layout.h"
#include "tests/runtime/attention_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

// Of results that are rounded to 16 bits, among which a bf16 has 8 bits.
constexpr double kHalfTolerance = 0x1p-7;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(const RefTensor& tensor) {
  double result = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) result = std::max(result, std::fabs(tensor.at(i)));
  return result;
}

void expect_agreement(const AttentionCases& cases, const Tensors& outputs, double tolerance) {
  const auto expected = run_on_interpreter(cases.graph, cases.inputs);
  for (const auto& [name, tensor] : outputs) {
    const RefTensor& want = expected.at(name);
    ASSERT_EQ(tensor.type(), want.type) << name;
    // Where a gradient vanishes by cancellation, the roundoff of what cancels remains.
    const bool half = dtype_bytes(want.type.dtype) == 2;
    const double bound = (half ? kHalfTolerance : tolerance) * std::max(largest(want), 0.1);
    for (int64_t i = 0; i < want.numel(); ++i) {
      const double own = element(tensor.view(), i), exact = want.at(i);
      if (std::isnan(exact) ? std::isnan(own) : own == exact) continue;
      ASSERT_LE(std::fabs(own - exact), bound) << name << " element " << i << ": " << own << ", evaluated " << exact;
    }
  }
}

AttentionCases variants() {
  AttentionCases cases;
  // Tiles of 64 by 64 with partial ones at the end.
  cases.add({.label = "one tensor", .batch = 2, .attrs = attention_rules(true), .one_tensor = true});
  cases.add({.label = "whole tiles", .queries = 128, .keys = 128, .attrs = attention_rules(true)});
  cases.add({.label = "cross", .queries = 70, .keys = 133, .attrs = attention_rules()});
  cases.add({.label = "grouped", .batch = 2, .heads = 6, .key_heads = 2, .attrs = attention_rules(true)});
  cases.add({.label = "many heads", .batch = 2, .heads = 4, .key_heads = 4, .queries = 70, .attrs = attention_rules()});
  cases.add({.label = "cache", .queries = 65, .keys = 200, .attrs = attention_rules(true, 135)});
  cases.add({.label = "window", .queries = 300, .keys = 300, .attrs = attention_rules(true, 0, 40)});
  cases.add({.label = "both sides", .queries = 200, .keys = 300, .attrs = attention_rules(false, 17, 70, 33)});
  cases.add({.label = "before the keys", .queries = 200, .keys = 90, .attrs = attention_rules(true, -75, 20)});
  cases.add({.label = "softcap", .attrs = attention_rules(true, 0, -1, -1, 0.7), .spread = 2});
  cases.add({.label = "sharp", .attrs = attention_rules(), .spread = 7});
  // Masks of every broadcast.
  const auto masked = [&](const char* label, const AttentionCase::Mask& mask, bool causal = false) {
    cases.add({.label = label, .batch = 2, .attrs = attention_rules(causal), .mask = mask});
  };
  masked("padding", {Dtype::boolean, {2, 1, 1, 150}});
  masked("bool", {Dtype::boolean, {150, 150}});
  masked("bool of all", {Dtype::boolean, {2, 2, 150, 150}}, true);
  masked("per query", {Dtype::boolean, {150, 1}});
  masked("bias", {Dtype::f32, {1, 2, 150, 150}}, true);
  masked("bias per key", {Dtype::f32, {150}});
  masked("infinite bias", {Dtype::f32, {1, 1, 150, 150}, -kInfinity});
  masked("one number", {Dtype::f32, {}});
  masked("bias per head", {Dtype::f32, {2, 1, 150}});
  masked("bias of a batch", {Dtype::f32, {2, 1, 150, 150}}, true);
  return cases;
}

// Dropout, with and without whatever else changes weights.
AttentionCases dropped() {
  AttentionCases cases;
  cases.add({.label = "dropout", .batch = 2, .attrs = attention_rules(true), .dropout = 0.1});
  cases.add({.label = "few keys", .queries = 37, .keys = 21, .depth = 16, .dropout = 0.5});
  cases.add({.label = "many heads", .batch = 3, .heads = 6, .key_heads = 3, .queries = 70, .keys = 67, .dropout = 0.7});
  cases.add({.label = "softcap", .attrs = attention_rules(true, 0, 30, -1, 0.7), .dropout = 0.3});
  cases.add({.label = "bool", .mask = AttentionCase::Mask{Dtype::boolean, {150, 150}}, .dropout = 0.25});
  cases.add({.label = "bias", .mask = AttentionCase::Mask{Dtype::f32, {2, 150, 150}}, .dropout = 0.25});
  cases.add({.label = "all", .queries = 20, .keys = 20, .dropout = 1});
  return cases;
}

// 16-bit operands, masks of the same dtype and of another.
AttentionCases sixteen_bits() {
  AttentionCases cases;
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    const std::string name(dtype_name(dtype));
    cases.add({.label = name, .batch = 2, .heads = 8, .key_heads = 4, .attrs = attention_rules(true), .dtype = dtype});
    cases.add({.label = name + " slices", .one_tensor = true, .dropout = 0.2, .dtype = dtype});
    cases.add({.label = name + " bias", .mask = AttentionCase::Mask{dtype, {150, 150}}, .dtype = dtype});
    cases.add({.label = name + ", f32 bias", .mask = AttentionCase::Mask{Dtype::f32, {2, 1, 150}}, .dtype = dtype});
  }
  cases.add({.label = "f32, bf16 bias", .mask = AttentionCase::Mask{Dtype::bf16, {150, 150}}});
  return cases;
}

AttentionCases odd_sizes() {
  AttentionCases cases;
  cases.add(
      {.label = "depth 1", .queries = 17, .keys = 16, .depth = 1, .value_depth = 1, .attrs = attention_rules(true)});
  cases.add({.label = "depth 7", .heads = 1, .key_heads = 1, .queries = 17, .keys = 31, .depth = 7, .value_depth = 5});
  cases.add(
      {.label = "depth 80", .queries = 33, .keys = 33, .depth = 80, .value_depth = 80, .attrs = attention_rules(true)});
  cases.add({.label = "depth 128", .queries = 65, .keys = 66, .depth = 128, .value_depth = 128});
  cases.add({.label = "depth 256",
             .queries = 40,
             .keys = 50,
             .depth = 256,
             .value_depth = 24,
             .attrs = attention_rules(true)});
  cases.add({.label = "one query", .batch = 8, .queries = 1, .keys = 100, .depth = 8, .value_depth = 8});
  cases.add({.label = "one key", .queries = 100, .keys = 1, .depth = 8, .value_depth = 8});
  cases.add({.label = "one pair", .heads = 1, .key_heads = 1, .queries = 1, .keys = 1, .depth = 8, .value_depth = 8});
  cases.add({.label = "no keys", .queries = 3, .keys = 0, .depth = 8, .value_depth = 8});
  cases.add({.label = "no queries", .queries = 0, .keys = 3, .depth = 8, .value_depth = 8});
  cases.add({.label = "no batch", .batch = 0, .queries = 3, .keys = 3, .depth = 8, .value_depth = 8});
  return cases;
}

// Scores of ±10^4 and ties, dead rows: integers times a power of two, so that q·k is exact.
AttentionCases hostile() {
  AttentionCases cases;
  const Attrs exact = attention_rules(true, 0, -1, -1, 0, 0.25);
  cases.add({.label = "large", .attrs = exact, .spread = 45, .integers = true});
  cases.add({.label = "ties", .attrs = exact, .spread = 0.6, .integers = true});
  cases.add({.label = "masked",
             .attrs = exact,
             .mask = AttentionCase::Mask{Dtype::f32, {1, 1, 150, 150}, -kInfinity},
             .spread = 45,
             .integers = true});
  // All keys of a query are masked by a finite number, which leaves no digit of its scores, or shifts them far.
  for (const double all : {-double{std::numeric_limits<float>::max()}, -1e9, 1e4, -1e4})
    cases.add({.label = fmt::format("rows at {}", all),
               .attrs = exact,
               .mask = AttentionCase::Mask{Dtype::f32, {1, 1, 150, 150}, all, true},
               .spread = 2,
               .integers = true});
  cases.add({.label = "dead rows", .attrs = attention_rules(true, -70), .spread = 45, .integers = true});
  return cases;
}

TEST(Attention, VariantsAgreeWithEvaluation) {
  const AttentionCases cases = variants();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(Attention, OddSizesAgreeWithEvaluation) {
  const AttentionCases cases = odd_sizes();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(Attention, DropoutAgreesWithEvaluation) {
  const AttentionCases cases = dropped();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(Attention, SixteenBitsAgreeWithEvaluation) {
  const AttentionCases cases = sixteen_bits();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(Attention, HostileScoresAgreeWithEvaluation) {
  const AttentionCases cases = hostile();
  const Tensors outputs = run_on_cpu(cases.graph, cases.inputs);
  expect_agreement(cases, outputs, 2e-5);
  double greatest = 0;
  const Tensor& lse = outputs.at("large/lse");
  for (int64_t i = 0; i < lse.type().shape.numel(); ++i) greatest = std::max(greatest, element(lse.view(), i));
  EXPECT_GT(greatest, 5e3);
  for (const char* name : {"dead rows/o", "dead rows/dq"}) EXPECT_EQ(element(outputs.at(name).view(), 69 * 64), 0);
}

TEST(Attention, BitsDependNeitherOnRunsNorOnThreads) {
  for (const auto& make : {variants, hostile, dropped, sixteen_bits}) {
    const AttentionCases cases = make();
    const Tensors one = run_on_cpu(cases.graph, cases.inputs, 1);
    for (const int threads : {1, 2, 3}) EXPECT_TRUE(run_on_cpu(cases.graph, cases.inputs, threads) == one) << threads;
  }
}

// q, k and v lie in the midst of NaN; the arena is NaN wherever nothing was written.
TEST(Attention, TouchesNothingOutside) {
  constexpr int64_t kRows = 70, kDepth = 20, kMargin = 3;
  const Shape inner{1, 2, kRows, kDepth}, outer{1, 2, kRows + 2 * kMargin, kDepth + 2 * kMargin};
  const auto run = [&](bool embedded) {
    Graph graph;
    Builder b(graph);
    Tensors inputs;
    std::vector<ValueId> operands;
    for (const char* name : {"q", "k", "v"}) {
      const Tensor dense = pseudo_random({Dtype::f32, inner}, static_cast<uint32_t>(name[0]));
      Tensor tensor({Dtype::f32, embedded ? outer : inner});
      for (int64_t i = 0; i < tensor.type().shape.numel(); ++i) set_element(tensor, i, std::nan(""));
      const Dims strides = row_major_strides(tensor.type().shape);
      for (int64_t i = 0; i < inner.numel(); ++i) {
        const int64_t head = i / kDepth / kRows, row = i / kDepth % kRows, column = i % kDepth;
        const int64_t margin = embedded ? kMargin : 0;
        set_element(tensor, head * strides[1] + (row + margin) * strides[2] + column + margin,
                    element(dense.view(), i));
      }
      ValueId value = graph.add_input(tensor.type(), InputRole::data, name);
      if (embedded) value = b.slice_axis(b.slice_axis(value, 2, kMargin, kRows), 3, kMargin, kDepth);
      operands.push_back(value);
      inputs.emplace(name, std::move(tensor));
    }
    const NodeId forward = b.make_node(Op::attention, operands, attention_rules(true));
    const std::vector<ValueId> results = graph.node(forward).outputs;
    operands.insert(operands.end(), {results[0], results[1], results[0]});
    const NodeId backward = b.make_node(Op::attention_backward, operands, attention_rules(true));
    graph.add_output(results[0], OutputRole::output, "o");
    for (const ValueId gradient : graph.node(backward).outputs)
      graph.add_output(gradient, OutputRole::output, fmt::format("{}", gradient.index - results[0].index));
    return run_on_cpu(graph, inputs);
  };
  const Tensors embedded = run(true), dense = run(false);
  EXPECT_TRUE(embedded == dense);
  for (const auto& [name, tensor] : dense)
    for (int64_t i = 0; i < tensor.type().shape.numel(); ++i)
      ASSERT_TRUE(std::isfinite(element(tensor.view(), i))) << name;
}

// Heads are merged behind attention and its gradients: the kernels write where the merged axes want them. What is read
// in another form too, or is an output itself, agrees all the same.
TEST(Attention, MergedHeadsAreNotCopied) {
  const Shape rows{2, 70, 3, 20}, merged{2, 70, 60};
  Graph graph;
  Builder b(graph);
  Tensors inputs;
  const auto input = [&](const char* name, const Shape& shape) {
    inputs.emplace(name, pseudo_random({Dtype::f32, shape}, static_cast<uint32_t>(name[0])));
    return graph.add_input({Dtype::f32, shape}, InputRole::data, name);
  };
  const auto output = [&](const char* name, ValueId value) { graph.add_output(value, OutputRole::output, name); };
  const auto by_heads = [&](ValueId value) { return b.transpose(value, {0, 2, 1, 3}); };
  const auto merge = [&](ValueId value) { return b.reshape(by_heads(value), merged); };
  const ValueId q = by_heads(input("q", rows)), k = by_heads(input("k", rows)), v = by_heads(input("v", rows));
  const std::vector<ValueId> forward = graph.node(b.make_node(Op::attention, {q, k, v}, attention_rules(true))).outputs;
  const ValueId d_o = by_heads(b.reshape(input("g", merged), rows));
  const NodeId backward =
      b.make_node(Op::attention_backward, {q, k, v, forward[0], forward[1], d_o}, attention_rules(true));
  const std::vector<ValueId> gradients = graph.node(backward).outputs;
  output("o", merge(forward[0]));
  output("dq", merge(gradients[0]));
  output("dk, one query beside the other", by_heads(gradients[1]));
  output("dv", gradients[2]);  // an output lies in the order of its axes: this one is copied
  output("dv merged", merge(gradients[2]));

  const Layouts layouts(graph);
  for (const ValueId value : {forward[0], gradients[0]})
    EXPECT_EQ(layouts.of(value).strides, (Dims{70 * 60, 20, 60, 1}));
  for (const ValueId value : {gradients[1], gradients[2]})
    EXPECT_EQ(layouts.of(value).strides, row_major_strides(graph.shape(value)));
  EXPECT_TRUE(is_row_major(layouts.of(forward[1]), graph.shape(forward[1])));
  std::vector<std::string> copied;
  for (const GraphOutput& out : graph.outputs())
    if (graph.producer(out.value)->op == Op::reshape && !layouts.is_alias(out.value)) copied.push_back(out.name);
  EXPECT_EQ(copied, std::vector<std::string>{"dv merged"});

  const auto expected = run_on_interpreter(graph, inputs);
  for (const auto& [name, tensor] : run_on_cpu(graph, inputs))
    for (int64_t i = 0; i < tensor.type().shape.numel(); ++i)
      ASSERT_NEAR(element(tensor.view(), i), expected.at(name).at(i), 2e-5) << name << " element " << i;
}

// A NaN in a key reaches the queries that attend to it and no other.
TEST(Attention, NanReachesThoseThatAttend) {
  AttentionCases cases;
  cases.add({.label = "nan", .attrs = attention_rules(true)});
  set_element(cases.inputs.at("nan.k"), 37 * 2 * 64 + 5, std::nan(""));  // head 0, key 37
  const Tensor o = run_on_cpu(cases.graph, cases.inputs).at("nan/o");
  for (int64_t i = 0; i < o.type().shape.numel(); ++i) {
    const int64_t head = i / 64 / 150, query = i / 64 % 150;
    ASSERT_EQ(std::isnan(element(o.view(), i)), head == 0 && query >= 37) << "query " << query;
  }
}

}  // namespace
}  // namespace stepc::test
