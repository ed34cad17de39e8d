// What an attention kernel is said to do before it runs: bytes, FLOPs, scratch, what is planned around it.
#include "codegen/cpu/program.h"
#include "ir/kernel.h"
#include "tests/runtime/attention_cases.h"
#include "tests/runtime/fused_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stepc::test {
namespace {

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

// 1 MiB stays in cache for all heads, 4 MiB do not.
TEST(AttentionKernel, HeadsReadASharedMaskAgainWhereItLeavesTheCache) {
  const Type x{Dtype::f32, {1, 8, 1024, 64}};
  const int64_t without = kernel_of(describe(x, x, attention_rules())).traffic.read_bytes;
  const auto read = [&](Dtype dtype) {
    return kernel_of(describe(x, x, attention_rules(), Type{dtype, {1024, 1024}})).traffic.read_bytes - without;
  };
  EXPECT_EQ(read(Dtype::boolean), 1 << 20);
  EXPECT_EQ(read(Dtype::f32), 8 * (4 << 20));
}

TEST(AttentionKernel, TouchesMainMemoryOnceWhereAHeadFitsTheCache) {
  const Type x{Dtype::f32, {4, 16, 1024, 64}};
  const Kernel kernel = kernel_of(describe(x, x, attention_rules(true)));
  EXPECT_EQ(kernel.kind, KernelKind::attention);
  EXPECT_EQ(kernel.scratch_bytes, 0);
  EXPECT_EQ(kernel.traffic.ideal_bytes, 4 * x.bytes() + 4 * 16 * 1024 * 4);
  EXPECT_EQ(kernel.traffic.read_bytes + kernel.traffic.write_bytes, kernel.traffic.ideal_bytes);
  // 16 tiles of queries meet 1 to 16 tiles of keys: 136 of 64², at 4·64 FLOPs a pair.
  EXPECT_EQ(kernel.traffic.flops, int64_t{64} * 136 * 64 * 64 * 4 * 64);
}

TEST(AttentionKernel, KeysThatDoNotFitAreReadOncePerTileOfQueries) {
  const Type x{Dtype::f32, {1, 1, 8192, 64}};
  const Kernel kernel = kernel_of(describe(x, x, attention_rules()));
  EXPECT_EQ(kernel.scratch_bytes, 0);
  EXPECT_EQ(kernel.traffic.read_bytes, x.bytes() + 128 * 2 * x.bytes());
  EXPECT_EQ(kernel.traffic.write_bytes, x.bytes() + 8192 * 4);
}

TEST(AttentionKernel, OffsetsBeyond32BitsAreGenerated) {
  const Type x{Dtype::f32, {2, 1, int64_t{1} << 26, 64}};
  const Kernel kernel = kernel_of(describe(x, x, attention_rules(true, 0, 1000)));
  EXPECT_EQ(kernel.traffic.ideal_bytes, 4 * x.bytes() + (int64_t{2} << 26) * 4);
  EXPECT_THAT(cpu::print_function(kernel).text, testing::HasSubstr("AttentionTensor<float>{buffer<float>(args, 0), "
                                                                   "{4294967296, 4294967296, 64, 1}}"));
}

// Forward and backward of the shape, planned: nothing lies in memory that has the size of the scores.
TEST(AttentionKernel, NothingOfTheSizeOfTheScoresIsPlanned) {
  for (const int64_t length : {int64_t{1024}, int64_t{8192}}) {
    std::string text = R"(graph @g {
      %x: f32[4,T,1024] = input data "x"
      %y: f32[4,T,1024] = input data "y"
      %z: f32[4,T,1024] = input data "z"
      %0: f32[4,T,16,64] = reshape %x {shape=[4,T,16,64]}
      %1: f32[4,T,16,64] = reshape %y {shape=[4,T,16,64]}
      %2: f32[4,T,16,64] = reshape %z {shape=[4,T,16,64]}
      %q: f32[4,16,T,64] = transpose %0 {perm=[0,2,1,3]}
      %k: f32[4,16,T,64] = transpose %1 {perm=[0,2,1,3]}
      %v: f32[4,16,T,64] = transpose %2 {perm=[0,2,1,3]}
      %o, %lse: f32[4,16,T,64], f32[4,16,T] = attention %q, %k, %v {scale=0.125, causal=true}
      %3: f32[4,T,16,64] = transpose %o {perm=[0,2,1,3]}
      %4: f32[4,T,1024] = reshape %3 {shape=[4,T,1024]}
      output output "o" %4
    })";
    for (size_t place; (place = text.find('T')) != std::string::npos;) text.replace(place, 1, std::to_string(length));
    const FusedGraph step = fuse_full_step(text);
    const int64_t tensor = 4 * length * 1024 * 4;
    int64_t largest = 0;
    for (const PlannedBlock& block : step.plan.blocks) largest = std::max(largest, block.bytes);
    EXPECT_EQ(largest, tensor);
    // Three operands, o and dL/do, three gradients, a number per query for lse and two of the backward.
    EXPECT_LE(step.plan.arena_bytes, 8 * tensor + 3 * (tensor / 64) + 4096);
    EXPECT_EQ(std::ranges::count(step.kinds, KernelKind::attention), 2);
    EXPECT_EQ(step.kinds.size(), 4);  // the loss and its gradient besides
  }
}

TEST(AttentionKernel, SaysWhatItDoesNotCarry) {
  const auto why = [](Dtype dtype, int64_t depth, const std::optional<Type>& mask = {}) {
    const Type x{dtype, {1, 2, 4, depth}};
    const Description d = describe(x, x, attention_rules(), mask);
    const Layouts layouts(d.graph);
    return why_no_kernel(d.graph, d.node, layouts_of(layouts)).value_or("");
  };
  EXPECT_EQ(why(Dtype::f32, 8), "");
  EXPECT_EQ(why(Dtype::bf16, 8, Type{Dtype::f32, {4, 4}}), "");
  EXPECT_EQ(why(Dtype::f64, 8), "attention in f64");
  EXPECT_EQ(why(Dtype::f32, 0), "attention of depth 0");
  EXPECT_EQ(why(Dtype::f32, 4096), "attention of depths 4096 and 4096: too deep");
  EXPECT_EQ(why(Dtype::f32, 8, Type{Dtype::f64, {4, 4}}), "attention with a mask of f64");
}

}  // namespace
}  // namespace stepc::test
