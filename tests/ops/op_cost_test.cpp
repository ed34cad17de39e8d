// FLOPs of contractions, which every figure of the reports rests on.
#include "ir/attention.h"
#include "ir/einsum.h"
#include "ir/op_def.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace stepc::test {
namespace {

int64_t flops(const Sample& sample) {
  const OpCase c(sample);
  return node_cost(c.graph, c.graph.node(c.node)).flops;
}

RefTensor zeros(const Shape& shape) { return RefTensor(Type{Dtype::f64, shape}); }

TEST(OpCost, ContractionCountsEveryLabelOnce) {
  const auto contraction = [](const char* spec, const Shape& a, const Shape& b) {
    return flops({Op::contraction, "", {zeros(a), zeros(b)}, {{"spec", std::string(spec)}}});
  };
  EXPECT_EQ(contraction("ik,kj->ij", {5, 7}, {7, 3}), 2 * 5 * 7 * 3);
  // C[G,H,I,J,K,L] · D[G,H,M,N,K,L]: batch labels G, H and contracted labels K, L once.
  EXPECT_EQ(contraction("ghijkl,ghmnkl->ghijmn", {2, 3, 1, 2, 3, 2}, {2, 3, 5, 1, 3, 2}),
            2 * 2 * 3 * 1 * 2 * 3 * 2 * 5 * 1);
  // A[I,J,K,L] · B[I,J,M,N,O] → C[K,L,M,N,O]: 2·IJKLMNO.
  EXPECT_EQ(contraction("ijkl,ijmno->klmno", {2, 3, 2, 3}, {2, 3, 1, 2, 3}), 2 * 2 * 3 * 2 * 3 * 1 * 2 * 3);
}

TEST(OpCost, RolesOfLabels) {
  const Einsum einsum = bind_einsum(parse_einsum("bmkx,bkny->bnm"), {2, 3, 5, 7}, {2, 5, 11, 13});
  EXPECT_EQ(einsum.size_of(LabelRole::batch), 2);
  EXPECT_EQ(einsum.size_of(LabelRole::m), 3);
  EXPECT_EQ(einsum.size_of(LabelRole::k), 5);
  EXPECT_EQ(einsum.size_of(LabelRole::sum_a), 7);
  EXPECT_EQ(einsum.size_of(LabelRole::n), 11);
  EXPECT_EQ(einsum.size_of(LabelRole::sum_b), 13);
  EXPECT_EQ(einsum.result_shape(), (Shape{2, 11, 3}));
  EXPECT_EQ(einsum.labels[1].b_axis, 2);  // n
  EXPECT_EQ(einsum.labels[1].result_axis, 1);
}

// T queries on T keys: 4·B·H·T²·D in the forward, 10·B·H·T²·D in the backward that forms the scores again; causal
// masking leaves T(T+1)/2 of the T² pairs, a window of w keys before the query at most w + 1 per query.
TEST(OpCost, AttentionCountsPairsWithinTheLimits) {
  const int64_t t = 8;
  const RefTensor x = zeros({2, 3, t, 4}), lse = zeros({2, 3, t});
  const auto attrs = [](bool causal, int64_t left) {
    return Attrs{{"scale", 1.0}, {"causal", causal}, {"window_left", left}};
  };
  const int64_t per_pair = 2 * 3 * 4;
  EXPECT_EQ(flops({Op::attention, "", {x, x, x}, attrs(false, -1)}), 4 * per_pair * t * t);
  EXPECT_EQ(flops({Op::attention, "", {x, x, x}, attrs(true, -1)}), 4 * per_pair * t * (t + 1) / 2);
  EXPECT_EQ(flops({Op::attention, "", {x, x, x}, attrs(true, 1)}), 4 * per_pair * (2 * t - 1));
  EXPECT_EQ(flops({Op::attention_backward, "", {x, x, x, x, lse, x}, attrs(false, -1)}), 10 * per_pair * t * t);
}

TEST(OpCost, ConvolutionCountsPaddingToo) {
  const Attrs attrs{
      {"strides", Dims{1, 1}}, {"pads", Dims{1, 1, 1, 1}}, {"dilations", Dims{1, 1}}, {"group", int64_t{2}}};
  EXPECT_EQ(flops({Op::conv, "", {zeros({2, 4, 5, 5}), zeros({6, 2, 3, 3})}, attrs}), 2 * 2 * 6 * 2 * 25 * 9);
}

}  // namespace
}  // namespace stepc::test
