// Attention kernels against the reference interpreter, the bit rule, and what is touched.
#include "codegen/cpu/program.h"
#include "ir/builder.h"
#include "ir/kernel.h"
#include "tests/runtime/run_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Attrs rules(bool causal = false, int64_t offset = 0, int64_t left = -1, int64_t right = -1, double softcap = 0,
            double scale = 0.125) {
  return {{"scale", scale},      {"causal", causal},      {"causal_offset", offset},
          {"window_left", left}, {"window_right", right}, {"softcap", softcap}};
}

struct Mask {
  Dtype dtype = Dtype::f32;
  Shape shape;
  bool infinite = false;  // a third −∞, the rest 0
};

struct Case {
  std::string label;
  int64_t batch = 1, heads = 2, key_heads = 2, queries = 150, keys = 150, depth = 64, value_depth = 64;
  Attrs attrs = rules();
  std::optional<Mask> mask = std::nullopt;
  double spread = 1;        // of q and k
  bool integers = false;    // q and k are integers: products of them are exact
  bool one_tensor = false;  // q, k and v are slices of one [B, S, 3·H·D]
};

Tensor rounded(Tensor tensor) {
  for (int64_t i = 0; i < tensor.type().shape.numel(); ++i)
    set_element(tensor, i, std::round(element(tensor.view(), i)));
  return tensor;
}

Tensor mask_values(const Mask& mask, uint32_t seed) {
  Tensor tensor = pseudo_random({mask.dtype, mask.shape}, seed);
  for (int64_t i = 0; i < mask.shape.numel(); ++i) {
    const bool third = (i * 7 + i / 5) % 3 == 0;
    if (mask.dtype == Dtype::boolean) set_element(tensor, i, third ? 0 : 1);
    if (mask.infinite) set_element(tensor, i, third ? -kInf : 0);
  }
  return tensor;
}

// Graphs of attention with its gradients, outputs "<label>/o", lse, dq, dk, dv.
class Cases {
 public:
  Graph graph;
  Tensors inputs;

  void add(const Case& c) {
    const Values x = c.one_tensor ? slices_of_one(c) : separate(c);
    std::vector<ValueId> operands{x.q, x.k, x.v};
    if (c.mask) operands.push_back(input(c.label + ".mask", mask_values(*c.mask, 9)));
    const std::vector<ValueId> results = graph.node(b_.make_node(Op::attention, operands, c.attrs)).outputs;
    const Type o = graph.type(results[0]);
    std::vector<ValueId> backward{x.q, x.k, x.v, results[0], results[1], input(c.label + ".do", pseudo_random(o, 4))};
    if (c.mask) backward.push_back(operands[3]);
    const std::vector<ValueId> gradients = graph.node(b_.make_node(Op::attention_backward, backward, c.attrs)).outputs;
    output(c, "o", results[0]);
    output(c, "lse", results[1]);
    output(c, "dq", gradients[0]);
    output(c, "dk", gradients[1]);
    output(c, "dv", gradients[2]);
  }

 private:
  struct Values {
    ValueId q, k, v;
  };

  ValueId input(const std::string& name, Tensor tensor) {
    const ValueId value = graph.add_input(tensor.type(), InputRole::data, name);
    inputs.emplace(name, std::move(tensor));
    return value;
  }
  void output(const Case& c, const char* name, ValueId value) {
    graph.add_output(value, OutputRole::output, c.label + "/" + name);
  }
  // [B, rows, heads, depth] seen as [B, heads, rows, depth].
  ValueId operand(const Case& c, const char* name, int64_t heads, int64_t rows, int64_t depth, uint32_t seed,
                  double spread) {
    Tensor tensor = pseudo_random({Dtype::f32, {c.batch, rows, heads, depth}}, seed, -spread, spread);
    if (c.integers) tensor = rounded(std::move(tensor));
    return b_.transpose(input(c.label + "." + name, std::move(tensor)), {0, 2, 1, 3});
  }
  Values separate(const Case& c) {
    return {operand(c, "q", c.heads, c.queries, c.depth, 1, c.spread),
            operand(c, "k", c.key_heads, c.keys, c.depth, 2, c.spread),
            operand(c, "v", c.key_heads, c.keys, c.value_depth, 3, 1)};
  }
  Values slices_of_one(const Case& c) {
    const int64_t width = c.heads * c.depth;
    const ValueId all = input(c.label + ".qkv", pseudo_random({Dtype::f32, {c.batch, c.queries, 3 * width}}, 1));
    const auto part = [&](int64_t i) {
      const ValueId slice = b_.slice_axis(all, 2, i * width, width);
      return b_.transpose(b_.reshape(slice, {c.batch, c.queries, c.heads, c.depth}), {0, 2, 1, 3});
    };
    return {part(0), part(1), part(2)};
  }

  Builder b_{graph};
};

double largest(const RefTensor& tensor) {
  double result = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) result = std::max(result, std::fabs(tensor.at(i)));
  return result;
}

void expect_agreement(const Cases& cases, const Tensors& outputs, double tolerance) {
  const auto expected = run_on_interpreter(cases.graph, cases.inputs);
  for (const auto& [name, tensor] : outputs) {
    const RefTensor& want = expected.at(name);
    ASSERT_EQ(tensor.type(), want.type) << name;
    // Where a gradient vanishes by cancellation, the roundoff of what cancels remains.
    const double bound = tolerance * std::max(largest(want), 0.1);
    for (int64_t i = 0; i < want.numel(); ++i) {
      const double own = element(tensor.view(), i), exact = want.at(i);
      if (std::isnan(exact) ? std::isnan(own) : own == exact) continue;
      ASSERT_LE(std::fabs(own - exact), bound) << name << " element " << i << ": " << own << ", evaluated " << exact;
    }
  }
}

Cases variants() {
  Cases cases;
  // Tiles of 64 by 64 with partial ones at the end.
  cases.add({.label = "one tensor", .batch = 2, .attrs = rules(true), .one_tensor = true});
  cases.add({.label = "whole tiles", .queries = 128, .keys = 128, .attrs = rules(true)});
  cases.add({.label = "cross", .queries = 70, .keys = 133, .attrs = rules()});
  cases.add({.label = "grouped", .batch = 2, .heads = 6, .key_heads = 2, .attrs = rules(true)});
  cases.add({.label = "many heads", .batch = 2, .heads = 4, .key_heads = 4, .queries = 70, .attrs = rules()});
  cases.add({.label = "cache", .queries = 65, .keys = 200, .attrs = rules(true, 135)});
  cases.add({.label = "window", .queries = 300, .keys = 300, .attrs = rules(true, 0, 40)});
  cases.add({.label = "both sides", .queries = 200, .keys = 300, .attrs = rules(false, 17, 70, 33)});
  cases.add({.label = "before the keys", .queries = 200, .keys = 90, .attrs = rules(true, -75, 20)});
  cases.add({.label = "softcap", .attrs = rules(true, 0, -1, -1, 0.7), .spread = 2});
  cases.add({.label = "sharp", .attrs = rules(), .spread = 7});
  // Masks of every broadcast.
  const auto masked = [&](const char* label, const Mask& mask, bool causal = false) {
    cases.add({.label = label, .batch = 2, .attrs = rules(causal), .mask = mask});
  };
  masked("padding", {Dtype::boolean, {2, 1, 1, 150}});
  masked("bool", {Dtype::boolean, {150, 150}});
  masked("bool of all", {Dtype::boolean, {2, 2, 150, 150}}, true);
  masked("per query", {Dtype::boolean, {150, 1}});
  masked("bias", {Dtype::f32, {1, 2, 150, 150}}, true);
  masked("bias per key", {Dtype::f32, {150}});
  masked("infinite bias", {Dtype::f32, {1, 1, 150, 150}, true});
  masked("one number", {Dtype::f32, {}});
  return cases;
}

Cases odd_sizes() {
  Cases cases;
  cases.add({.label = "depth 1", .queries = 17, .keys = 16, .depth = 1, .value_depth = 1, .attrs = rules(true)});
  cases.add({.label = "depth 7", .heads = 1, .key_heads = 1, .queries = 17, .keys = 31, .depth = 7, .value_depth = 5});
  cases.add({.label = "depth 80", .queries = 33, .keys = 33, .depth = 80, .value_depth = 80, .attrs = rules(true)});
  cases.add({.label = "depth 128", .queries = 65, .keys = 66, .depth = 128, .value_depth = 128});
  cases.add({.label = "depth 256", .queries = 40, .keys = 50, .depth = 256, .value_depth = 24, .attrs = rules(true)});
  cases.add({.label = "one query", .batch = 8, .queries = 1, .keys = 100, .depth = 8, .value_depth = 8});
  cases.add({.label = "one key", .queries = 100, .keys = 1, .depth = 8, .value_depth = 8});
  cases.add({.label = "one pair", .heads = 1, .key_heads = 1, .queries = 1, .keys = 1, .depth = 8, .value_depth = 8});
  cases.add({.label = "no keys", .queries = 3, .keys = 0, .depth = 8, .value_depth = 8});
  cases.add({.label = "no queries", .queries = 0, .keys = 3, .depth = 8, .value_depth = 8});
  cases.add({.label = "no batch", .batch = 0, .queries = 3, .keys = 3, .depth = 8, .value_depth = 8});
  return cases;
}

// Scores of ±10^4 and ties, dead rows: integers times a power of two, so that q·k is exact.
Cases hostile() {
  Cases cases;
  const Attrs exact = rules(true, 0, -1, -1, 0, 0.25);
  cases.add({.label = "large", .attrs = exact, .spread = 45, .integers = true});
  cases.add({.label = "ties", .attrs = exact, .spread = 0.6, .integers = true});
  cases.add({.label = "masked",
             .attrs = exact,
             .mask = Mask{Dtype::f32, {1, 1, 150, 150}, true},
             .spread = 45,
             .integers = true});
  cases.add({.label = "dead rows", .attrs = rules(true, -70), .spread = 45, .integers = true});
  return cases;
}

TEST(Attention, VariantsAgreeWithEvaluation) {
  const Cases cases = variants();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(Attention, OddSizesAgreeWithEvaluation) {
  const Cases cases = odd_sizes();
  expect_agreement(cases, run_on_cpu(cases.graph, cases.inputs), 2e-5);
}

TEST(Attention, HostileScoresAgreeWithEvaluation) {
  const Cases cases = hostile();
  const Tensors outputs = run_on_cpu(cases.graph, cases.inputs);
  expect_agreement(cases, outputs, 2e-5);
  double greatest = 0;
  const Tensor& lse = outputs.at("large/lse");
  for (int64_t i = 0; i < lse.type().shape.numel(); ++i) greatest = std::max(greatest, element(lse.view(), i));
  EXPECT_GT(greatest, 5e3);
  for (const char* name : {"dead rows/o", "dead rows/dq"}) EXPECT_EQ(element(outputs.at(name).view(), 69 * 64), 0);
}

TEST(Attention, BitsDependNeitherOnRunsNorOnThreads) {
  const Cases cases = variants();
  const Tensors one = run_on_cpu(cases.graph, cases.inputs, 1);
  for (const int threads : {1, 2, 3}) EXPECT_TRUE(run_on_cpu(cases.graph, cases.inputs, threads) == one) << threads;
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
    const NodeId forward = b.make_node(Op::attention, operands, rules(true));
    const std::vector<ValueId> results = graph.node(forward).outputs;
    operands.insert(operands.end(), {results[0], results[1], results[0]});
    const NodeId backward = b.make_node(Op::attention_backward, operands, rules(true));
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
  const std::vector<ValueId> forward = graph.node(b.make_node(Op::attention, {q, k, v}, rules(true))).outputs;
  const ValueId d_o = by_heads(b.reshape(input("g", merged), rows));
  const NodeId backward = b.make_node(Op::attention_backward, {q, k, v, forward[0], forward[1], d_o}, rules(true));
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
  Cases cases;
  cases.add({.label = "nan", .attrs = rules(true)});
  set_element(cases.inputs.at("nan.k"), 37 * 2 * 64 + 5, std::nan(""));  // head 0, key 37
  const Tensor o = run_on_cpu(cases.graph, cases.inputs).at("nan/o");
  for (int64_t i = 0; i < o.type().shape.numel(); ++i) {
    const int64_t head = i / 64 / 150, query = i / 64 % 150;
    ASSERT_EQ(std::isnan(element(o.view(), i)), head == 0 && query >= 37) << "query " << query;
  }
}

// --- descriptions

struct Description {
  Graph graph;
  NodeId node;
  Layouts layouts() const { return Layouts(graph); }
};

Description describe(const Type& q, const Type& k, const Attrs& attributes, const std::optional<Type>& mask = {}) {
  Description d;
  Builder b(d.graph);
  std::vector<ValueId> operands;
  operands.push_back(d.graph.add_input(q, InputRole::data, "q"));
  for (const char* name : {"k", "v"}) operands.push_back(d.graph.add_input(k, InputRole::data, name));
  if (mask) operands.push_back(d.graph.add_input(*mask, InputRole::data, "mask"));
  d.node = b.make_node(Op::attention, operands, attributes);
  return d;
}

Kernel kernel_of(const Description& d) {
  const Layouts layouts(d.graph);
  return describe_kernel(d.graph, d.node, layouts_of(layouts));
}

TEST(AttentionKernel, TouchesMainMemoryOnceWhereAHeadFitsTheCache) {
  const Type x{Dtype::f32, {4, 16, 1024, 64}};
  const Kernel kernel = kernel_of(describe(x, x, rules(true)));
  EXPECT_EQ(kernel.kind, KernelKind::attention);
  EXPECT_EQ(kernel.scratch_bytes, 0);
  EXPECT_EQ(kernel.traffic.ideal_bytes, 4 * x.bytes() + 4 * 16 * 1024 * 4);
  EXPECT_EQ(kernel.traffic.read_bytes + kernel.traffic.write_bytes, kernel.traffic.ideal_bytes);
  // 16 tiles of queries meet 1 to 16 tiles of keys: 136 of 64², at 4·64 FLOPs a pair.
  EXPECT_EQ(kernel.traffic.flops, int64_t{64} * 136 * 64 * 64 * 4 * 64);
}

TEST(AttentionKernel, KeysThatDoNotFitAreReadOncePerTileOfQueries) {
  const Type x{Dtype::f32, {1, 1, 8192, 64}};
  const Kernel kernel = kernel_of(describe(x, x, rules()));
  EXPECT_EQ(kernel.scratch_bytes, 0);
  EXPECT_EQ(kernel.traffic.read_bytes, x.bytes() + 128 * 2 * x.bytes());
  EXPECT_EQ(kernel.traffic.write_bytes, x.bytes() + 8192 * 4);
}

TEST(AttentionKernel, OffsetsBeyond32BitsAreGenerated) {
  const Type x{Dtype::f32, {2, 1, int64_t{1} << 26, 64}};
  const Kernel kernel = kernel_of(describe(x, x, rules(true, 0, 1000)));
  EXPECT_EQ(kernel.traffic.ideal_bytes, 4 * x.bytes() + (int64_t{2} << 26) * 4);
  EXPECT_THAT(cpu::print_function(kernel).text, testing::HasSubstr("AttentionTensor q = {buffer<float>(args, 0), "
                                                                   "{4294967296, 4294967296, 64, 1}}"));
}

TEST(AttentionKernel, SaysWhatItDoesNotCarry) {
  const auto why = [](Dtype dtype, int64_t depth, const std::optional<Type>& mask = {}) {
    const Type x{dtype, {1, 2, 4, depth}};
    const Description d = describe(x, x, rules(), mask);
    const Layouts layouts(d.graph);
    return why_no_kernel(d.graph, d.node, layouts_of(layouts)).value_or("");
  };
  EXPECT_EQ(why(Dtype::f32, 8), "");
  EXPECT_EQ(why(Dtype::bf16, 8), "attention in bf16");
  EXPECT_EQ(why(Dtype::f64, 8), "attention in f64");
  EXPECT_EQ(why(Dtype::f32, 0), "attention of depth 0");
  EXPECT_EQ(why(Dtype::f32, 4096), "attention of depths 4096 and 4096: too deep");
  EXPECT_EQ(why(Dtype::f32, 8, Type{Dtype::f16, {4, 4}}), "attention with a mask of f16");
}

}  // namespace
}  // namespace stepc::test
