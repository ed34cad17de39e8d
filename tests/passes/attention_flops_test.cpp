// FLOPs of attention's contractions, with and without what masks hide, counted by hand.

#include "passes/analysis/attention_flops.h"
#include "ir/builder.h"

#include <gtest/gtest.h>

namespace stepc {
namespace {

// q, k [1, 2, 3, 4] and v [1, 2, 3, 5]: 18 pairs of a query and a key. A pair costs depth 4 + 5 forward; backward 5 for
// dv, 5 for dP, 4 for dq and 4 for dk. Each unit of depth is a multiplication and an addition.
class AttentionFlopsTest : public testing::Test {
 protected:
  ValueId input(Dims shape, const std::string& name, InputRole role = InputRole::weight) {
    return graph_.add_input({Dtype::f32, Shape(std::move(shape))}, role, name, {}, /*trainable=*/true);
  }
  void attend(std::vector<ValueId> operands, Attrs attrs = {}) {
    attrs.set("scale", 0.5);
    graph_.add_output(b_.make(Op::attention, std::move(operands), std::move(attrs)), OutputRole::output, "o");
  }
  ValueId mask(std::vector<float> numbers, Dims shape) {
    return b_.constant(Tensor::of_f32(numbers, Shape(std::move(shape))));
  }
  std::vector<ValueId> trained() {
    return {input({1, 2, 3, 4}, "q"), input({1, 2, 3, 4}, "k"), input({1, 2, 3, 5}, "v")};
  }
  AttentionFlops flops() const { return attention_flops(graph_, TrainOptions()).value(); }

  Graph graph_;
  Builder b_{graph_};
};

TEST_F(AttentionFlopsTest, EveryPairWithoutAMask) {
  attend(trained());
  EXPECT_EQ(flops().all_pairs, 2 * 18 * (9 + 18));
  EXPECT_EQ(flops().unmasked, flops().all_pairs);
}

TEST_F(AttentionFlopsTest, CausalLeavesTheLowerTriangle) {
  attend(trained(), {{"causal", true}});
  EXPECT_EQ(flops().all_pairs, 2 * 18 * (9 + 18));
  EXPECT_EQ(flops().unmasked, 2 * 12 * (9 + 18));
}

TEST_F(AttentionFlopsTest, OnlyWhatIsDifferentiatedHasABackward) {
  const ValueId q = input({1, 2, 3, 4}, "q", InputRole::data), k = input({1, 2, 3, 4}, "k", InputRole::data);
  attend({q, k, input({1, 2, 3, 5}, "v")});
  EXPECT_EQ(flops().all_pairs, 2 * 18 * (9 + 5));
}

// The first key is hidden from queries 0 and 2 of both heads; a 1 only shifts a score.
TEST_F(AttentionFlopsTest, ConstantMasksAreCounted) {
  std::vector<ValueId> operands = trained();
  operands.push_back(b_.reshape(mask({-1e38F, 0, 0, 0, 0, 0, -1e38F, 1, 0}, {3, 3}), {1, 1, 3, 3}));
  attend(std::move(operands));
  EXPECT_EQ(flops().unmasked, 2 * 14 * (9 + 18));
}

// Of causal's 6 pairs per head the second key's 2 go.
TEST_F(AttentionFlopsTest, MasksOfKeysMeetLimits) {
  std::vector<ValueId> operands = trained();
  operands.push_back(mask({0, -1e38F, 0}, {1, 1, 1, 3}));
  attend(std::move(operands), {{"causal", true}});
  EXPECT_EQ(flops().unmasked, 2 * 8 * (9 + 18));
}

TEST_F(AttentionFlopsTest, MasksThatAreDataAreUnknown) {
  std::vector<ValueId> operands = trained();
  operands.push_back(input({1, 1, 3, 3}, "mask", InputRole::data));
  attend(std::move(operands));
  EXPECT_EQ(flops().all_pairs, 2 * 18 * (9 + 18));
  EXPECT_EQ(flops().unmasked, std::nullopt);
}

TEST_F(AttentionFlopsTest, NothingWithoutAttention) {
  graph_.add_output(b_.neg(input({2}, "x")), OutputRole::output, "y");
  EXPECT_FALSE(attention_flops(graph_, TrainOptions()).has_value());
}

}  // namespace
}  // namespace stepc
