// Sizes, places and numbers that kernels of fusion level full must take as they come.
#include "tests/runtime/fused_graph.h"

#include "ir/builder.h"
#include "ir/support/error.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string with(std::string text, std::string_view name, int64_t number) {
  for (size_t place; (place = text.find(name)) != std::string::npos;)
    text.replace(place, name.size(), std::to_string(number));
  return text;
}

// --- sizes

// Norms, a softmax and what their weights receive: rows of N forward and backward, sums over rows.
constexpr std::string_view kRows = R"(graph @g {
  %x: f32[3,N] = input data "x"
  %r: f32[3,N] = input data "r"
  %w: f32[N] = input data "w"
  %c: f32[N] = input data "c"
  %h: f32[3,N] = add %x, %r
  %n, %s: f32[3,N], f32[3,1] = rms_norm %h, %w {axis=1, epsilon=1e-05}
  %m, %t, %u: f32[3,N], f32[3,1], f32[3,1] = layer_norm %n, %w, %c {axis=1, epsilon=1e-05}
  %g: f32[3,N] = gelu %m {approximate="tanh"}
  %p: f32[3,N] = softmax %g {axis=1}
  %y: f32[3,N] = mul %p, %h
  output output "y" %y
})";
// Few columns of N rows.
constexpr std::string_view kColumns = R"(graph @g {
  %x: f32[N,3] = input data "x"
  %w: f32[3] = input data "w"
  %c: f32[3] = input data "c"
  %n, %s: f32[N,3], f32[N,1] = rms_norm %x, %w {axis=1, epsilon=1e-05}
  %b: f32[N,3] = add %n, %c
  %y: f32[N,3] = silu %b
  output output "y" %y
})";

class FusedSizes : public testing::TestWithParam<int64_t> {};

TEST_P(FusedSizes, RowsAndColumns) {
  for (const std::string_view text : {kRows, kColumns}) {
    const std::string graph = with(std::string(text), "N", GetParam());
    const FusedGraph fused =
        GetParam() == 0 ? fuse_full(graph) : fuse_full_step(graph);  // a mean of nothing is no loss
    fused.run(values_for(fused.before), 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FusedSizes, testing::Values(0, 1, 2, 3, 15, 16, 17, 255, 257, 4095, 4097, 200003));

// A vocabulary of one class: its probability is 1, whatever the logits.
TEST(FusedInputs, VocabularyOfOne) {
  const FusedGraph fused = fuse_full_step(R"(graph @g {
    %h: f32[6,5] = input data "h"
    %w: f32[5,1] = input data "w"
    %labels: i64[6] = input label "labels"
    %x: f32[6,1] = contraction %h, %w {spec="ab,bc->ac"}
    %l, %lse: f32[6], f32[6] = cross_entropy %x, %labels {reduction="none"}
    %p: f32[6,1] = softmax %x {axis=1}
    %i: i64[6,1] = arg_max %x {axis=1}
    %0: f32[6] = reshape %p {shape=[6]}
    %y: f32[6] = add %l, %0
    output output "y" %y
    output output "i" %i
  })");
  Tensors inputs = values_for(fused.before);
  inputs.at("labels") = Tensor::of_i64(std::vector<int64_t>{0, -100, 0, 0, -100, 0}, {6});
  const Tensors outputs = fused.run(inputs);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(element(outputs.at("y").view(), i), 1);  // a loss of 0 and a probability of 1
    EXPECT_EQ(element(outputs.at("i").view(), i), 0);
  }
  for (int64_t i = 0; i < 30; ++i) EXPECT_EQ(element(outputs.at("gradin/h").view(), i), 0);
}

// One key: its weight is 1, so o = v, dv = Σ do and nothing reaches q or k.
TEST(FusedInputs, OneKey) {
  const FusedGraph fused = fuse_full_step(R"(graph @g {
    %q: f32[2,4,3,8] = input data "q"
    %k: f32[2,2,1,8] = input data "k"
    %v: f32[2,2,1,8] = input data "v"
    %o, %lse: f32[2,4,3,8], f32[2,4,3] = attention %q, %k, %v {scale=0.25}
    output output "o" %o
  })");
  const Tensors inputs = values_for(fused.before);
  const Tensors outputs = fused.run(inputs);
  for (int64_t i = 0; i < 2 * 4 * 3 * 8; ++i) {
    const int64_t key_head = i / (2 * 3 * 8), d = i % 8;
    EXPECT_EQ(element(outputs.at("o").view(), i), element(inputs.at("v").view(), key_head * 8 + d));
    EXPECT_NEAR(element(outputs.at("gradin/q").view(), i), 0, 1e-9);
  }
}

TEST(FusedInputs, NoHeadsAreRefused) {
  for (const auto& [heads, key_heads] : {std::pair(0, 0), std::pair(0, 2), std::pair(2, 0)}) {
    Graph graph;
    Builder b(graph);
    const auto operand = [&](const char* name, int64_t count) {
      return graph.add_input({Dtype::f32, {2, count, 3, 8}}, InputRole::data, name);
    };
    const std::vector<ValueId> operands{operand("q", heads), operand("k", key_heads), operand("v", key_heads)};
    try {
      b.make_node(Op::attention, operands, {{"scale", 1.0}});
      ADD_FAILURE() << heads << " heads on " << key_heads;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("there are no heads: q [2,"));
    }
  }
}

// --- places

// Blocks of 3·2³⁰ elements, a slice that is small but lies behind 2³¹, a gather and a transposed copy: nothing is
// allocated, all is planned, and the text compiles without a warning about what does not fit.
TEST(FusedInputs, OffsetsBeyond32Bits) {
  const FusedGraph fused = fuse_full(R"(graph @g {
    %x: f32[3,1048576,1024] = input data "x"
    %w: f32[1024] = input data "w"
    %ids: i64[7] = input data "ids"
    %0: f32[3,1048576,1024] = mul %x, %w
    %1: f32[3,1048576,1] = reduce_sum %0 {axes=[2], keepdims=true}
    %y: f32[3,1048576,1024] = sub %0, %1
    %2: f32[1,4,1024] = slice %0 {starts=[2,1048570,0], sizes=[1,4,1024], steps=[1,1,1]}
    %corner: f32[1,4,1024] = exp %2
    %flat: f32[3145728,1024] = reshape %y {shape=[3145728,1024]}
    %3: f32[7,1024] = gather %flat, %ids {axis=0}
    %rows: f32[7,1024] = neg %3
    %4: f32[1024,3,1048576] = transpose %y {perm=[2,0,1]}
    %turned: f32[1024,3,1048576] = neg %4
    %dw: f32[1024] = reduce_sum %0 {axes=[0,1], keepdims=false}
    output output "y" %y
    output output "corner" %corner
    output output "rows" %rows
    output output "turned" %turned
    output output "dw" %dw
  })");
  const int64_t bytes = int64_t{3} << 32;
  EXPECT_GE(fused.plan.arena_bytes, 3 * bytes);
  EXPECT_TRUE(std::ranges::any_of(fused.plan.blocks, [&](const PlannedBlock& b) { return b.offset >= bytes; }));
  const cpu::Program program = cpu::generate(fused.graph, fused.plan);
  std::string text;
  for (const cpu::KernelFunction& function : program.functions) text += function.text;
  EXPECT_THAT(text, testing::HasSubstr("3221219328"));                             // the slice begins there
  EXPECT_THAT(text, testing::Not(testing::ContainsRegex("\\bint(32_t)? [a-z]")));  // no index is narrower
  test_kernels(program.functions);
}

// --- numbers

// Every float input of every kernel family in turn holds a NaN, an ∞, a −∞: what they reach is what the interpreter
// says, forward and backward.
class FusedNumbers : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(FusedNumbers, SpecialValuesInEveryOperand) {
  const FusedGraph fused = fuse_full_step(GetParam().second);
  const Tensors inputs = values_for(fused.before);
  for (const auto& [name, tensor] : inputs) {
    if (!is_float(tensor.type().dtype)) continue;
    for (const double special : {std::nan(""), kInf, -kInf}) {
      Tensors changed = inputs;
      set_element(changed.at(name), tensor.type().shape.numel() / 2, special);
      SCOPED_TRACE(fmt::format("{} in {}", special, name));
      fused.run(changed, 2e-5);
    }
  }
}

constexpr std::pair<const char*, const char*> kFamilies[] = {{"residual_norm", R"(graph @g {
      %x: f32[4,40] = input data "x"
      %r: f32[4,40] = input data "r"
      %w: f32[40] = input data "w"
      %h: f32[4,40] = add %x, %r
      %n, %s: f32[4,40], f32[4,1] = rms_norm %h, %w {axis=1, epsilon=1e-05}
      %y: f32[4,40] = mul %n, %h
      output output "y" %y
    })"},
                                                             {"layer_norm", R"(graph @g {
      %x: f32[4,40] = input data "x"
      %w: f32[40] = input data "w"
      %b: f32[40] = input data "b"
      %n, %m, %s: f32[4,40], f32[4,1], f32[4,1] = layer_norm %x, %w, %b {axis=1, epsilon=1e-05}
      output output "n" %n
    })"},
                                                             {"gated_unit", R"(graph @g {
      %x: f32[4,40] = input data "x"
      %g: f32[4,40] = input data "g"
      %b: f32[40] = input data "b"
      %0: f32[4,40] = silu %g
      %1: f32[4,40] = mul %0, %x
      %2: f32[4,40] = add %1, %b
      %y: f32[4,40] = gelu %2 {approximate="tanh"}
      output output "y" %y
    })"},
                                                             {"softmax", R"(graph @g {
      %x: f32[4,40] = input data "x"
      %s: f32[4,1] = input data "s"
      %0: f32[4,40] = mul %x, %s
      %y: f32[4,40] = softmax %0 {axis=1}
      %z: f32[4,40] = log_softmax %0 {axis=1}
      %q: f32[4,40] = add %y, %z
      output output "q" %q
    })"},
                                                             {"cross_entropy", R"(graph @g {
      %x: f32[4,40] = input data "x"
      %b: f32[40] = input data "b"
      %labels: i64[4] = input label "labels"
      %0: f32[4,40] = add %x, %b
      %l, %lse: f32[4], f32[4] = cross_entropy %0, %labels {reduction="none", label_smoothing=0.1, z_loss=0.01}
      output output "l" %l
    })"},
                                                             {"rotary", R"(graph @g {
      %x: f32[2,3,4,8] = input data "x"
      %c: f32[4,4] = input data "c"
      %s: f32[4,4] = input data "s"
      %0: f32[2,3,4,8] = rotary %x, %c, %s
      %1: f32[2,4,3,8] = transpose %0 {perm=[0,2,1,3]}
      %y: f32[2,4,24] = reshape %1 {shape=[2,4,24]}
      output output "y" %y
    })"},
                                                             {"extremes", R"(graph @g {
      %x: f32[4,40] = input data "x"
      %lo: f32[] = input data "lo"
      %hi: f32[40] = input data "hi"
      %0: f32[4,40] = maximum %x, %lo
      %1: f32[4,40] = minimum %0, %hi
      %2: f32[4] = reduce_max %1 {axes=[1], keepdims=false}
      %3: f32[4] = reduce_min %x {axes=[1], keepdims=false}
      %4: f32[4] = sub %2, %3
      output output "y" %4
    })"},
                                                             {"gathered", R"(graph @g {
      %table: f32[5,40] = input data "table"
      %place: f32[3,40] = input data "place"
      %ids: i64[3] = input data "ids"
      %0: f32[3,40] = gather %table, %ids {axis=0}
      %1: f32[3,40] = add %0, %place
      %y: f32[3,40] = relu %1
      output output "y" %y
    })"}};

INSTANTIATE_TEST_SUITE_P(Families, FusedNumbers, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(family.param.first); });

}  // namespace
}  // namespace stepc::test
