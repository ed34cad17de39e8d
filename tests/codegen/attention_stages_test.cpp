// How attention and linear cross-entropy are cut into launches on a GPU.
#include "codegen/cuda/print_attention.h"
#include "codegen/cuda/print_linear_cross_entropy.h"
#include "ir/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace stepc::cuda {
namespace {

// What every GPU from sm_80 on grants a block that asks for it.
constexpr int64_t kMostSharedBytes = 99 * 1024;

Attrs attention_rules() {
  return {{"scale", 0.125},
          {"causal", true},
          {"causal_offset", int64_t{0}},
          {"window_left", int64_t{-1}},
          {"window_right", int64_t{-1}},
          {"softcap", 0.0},
          {"dropout", 0.1},
          {"dropout_key", int64_t{3}}};
}

Kernel attention_kernel(Dtype dtype, const Shape& q, const Shape& k, bool backward) {
  Graph graph;
  Builder b(graph);
  const auto input = [&](const Type& type, const char* name) { return graph.add_input(type, InputRole::data, name); };
  const ValueId of_q = input({dtype, q}, "q"), of_k = input({dtype, k}, "k"), of_v = input({dtype, k}, "v");
  const ValueId step = input({Dtype::i64, {}}, "step");
  Attrs attrs = attention_rules();
  NodeId node = b.make_node(Op::attention, {of_q, of_k, of_v, kNoValue, step}, attrs);
  if (backward) {
    const std::vector<ValueId> results = graph.node(node).outputs;
    attrs.set("mask_gradient", false);
    const ValueId d_o = input({dtype, q}, "do");
    node = b.make_node(Op::attention_backward, {of_q, of_k, of_v, results[0], results[1], d_o, kNoValue, step}, attrs);
  }
  const Layouts layouts(graph);
  return describe_kernel(graph, node, layouts_of(layouts));
}

TEST(AttentionStages, FitEveryArchitecture) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16})
    for (const int64_t depth : {1, 40, 64, 80, 128, 192, 256, 576})
      for (const int64_t rows : {1, 17, 50, 1000})
        for (const bool backward : {false, true}) {
          const Shape shape{1, 2, rows, depth};
          for (const StageText& stage : print_attention(attention_kernel(dtype, shape, shape, backward))) {
            EXPECT_LE(stage.shared_bytes, kMostSharedBytes) << dtype_name(dtype) << " depth " << depth;
            EXPECT_LE(stage.threads, 256);
            EXPECT_EQ(stage.threads % 32, 0);
          }
        }
}

// Two blocks fit a multiprocessor of every architecture at the depths that models have.
TEST(AttentionStages, CommonDepthsNeedNoOptIn) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const int64_t depth : {64, 128}) {
      const Shape shape{4, 12, 1024, depth};
      const std::vector<StageText> stages = print_attention(attention_kernel(dtype, shape, shape, false));
      ASSERT_EQ(stages.size(), 1U);
      EXPECT_EQ(stages[0].grid, 4 * 12 * 16);
      EXPECT_LE(stages[0].shared_bytes, 56 * 1024);
    }
}

TEST(AttentionStages, WhatThereIsNothingOfIsNotLaunched) {
  const auto stages = [](int64_t queries, int64_t keys, bool backward) {
    return print_attention(attention_kernel(Dtype::f32, {1, 2, queries, 8}, {1, 2, keys, 8}, backward)).size();
  };
  EXPECT_EQ(stages(0, 5, false), 0U);
  EXPECT_EQ(stages(5, 0, false), 1U);  // zeros
  EXPECT_EQ(stages(5, 5, true), 3U);   // delta, dq, dk and dv
  EXPECT_EQ(stages(0, 5, true), 1U);   // dk and dv are zeros
  EXPECT_EQ(stages(5, 0, true), 2U);
}

Kernel loss_kernel(int64_t rows, int64_t depth, int64_t classes) {
  Graph graph;
  Builder b(graph);
  const ValueId x = graph.add_input({Dtype::f32, {rows, depth}}, InputRole::data, "x");
  const ValueId w = graph.add_input({Dtype::f32, {classes, depth}}, InputRole::data, "w");
  const ValueId labels = graph.add_input({Dtype::i64, {rows}}, InputRole::label, "labels");
  const Attrs attrs{{"reduction", std::string("mean")},
                    {"label_smoothing", 0.0},
                    {"z_loss", 0.0},
                    {"ignore_index", int64_t{-100}},
                    {"dx", true},
                    {"dw", true},
                    {"dbias", false}};
  const NodeId node = b.make_node(Op::linear_cross_entropy_backward, {x, w, labels, b.scalar(1, Dtype::f32)}, attrs);
  const Layouts layouts(graph);
  return describe_kernel(graph, node, layouts_of(layouts));
}

// A step of any number of tokens compiles the same few functions and takes the same scratch.
TEST(LinearCrossEntropyStages, EveryChunkIsTheSameFunctions) {
  const Kernel kernel = loss_kernel(8192, 768, 50257);
  const std::vector<StageText> stages = print_linear_cross_entropy(kernel);
  std::set<std::string> bodies;
  for (const StageText& stage : stages) {
    bodies.insert(stage.body.str());
    EXPECT_LE(stage.shared_bytes, 48 * 1024);
  }
  EXPECT_EQ(bodies.size(), 8U);  // count, logits, loss, differences, dx, its sum, dw, next
  EXPECT_EQ(stages.size(), 1 + 16 * 6 + 15U);
  EXPECT_LT(linear_cross_entropy_scratch_bytes(kernel), int64_t{8192} * 50257 * 4 / 12);
  EXPECT_LT(
      linear_cross_entropy_scratch_bytes(loss_kernel(16384, 768, 50257)) - linear_cross_entropy_scratch_bytes(kernel),
      int64_t{16384} * 8);
}

}  // namespace
}  // namespace stepc::cuda
