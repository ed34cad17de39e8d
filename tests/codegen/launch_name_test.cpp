// Names of launches: what they tell, and that a model's own names cannot break out of them.
#include "codegen/launch_name.h"

#include <gtest/gtest.h>

namespace stepc {
namespace {

TEST(LaunchName, TellsNumberOperationsPhaseAndScope) {
  const Origin origin{Phase::forward, {}, "blocks.3.attn.norm"};
  EXPECT_EQ(launch_name(12, "rms_norm", origin), "k12_rms_norm_fwd_blocks_3_attn_norm");
  EXPECT_EQ(layer_launch_name(12, "rms_norm", origin), "k12_rms_norm_fwd_blocks_attn_norm");
  EXPECT_EQ(launch_name(0, "copy", {Phase::optimizer, {}, ""}), "k0_copy_opt");
  EXPECT_EQ(launch_name(7, "mul_etc", {Phase::recompute, {}, "Encoder.Layer0"}), "k7_mul_etc_rec_encoder_layer0");
}

TEST(LaunchName, KeepsNothingButLettersDigitsAndUnderscores) {
  const Origin hostile{Phase::backward, {}, "a\"b\nc*/.#include <x>.\xc3\xa9..;"};
  EXPECT_EQ(launch_name(1, "add", hostile), "k1_add_bwd_a_b_c_include_x");
  EXPECT_EQ(layer_launch_name(1, "add", {Phase::loss, {}, "1.2.3"}), "k1_add_loss");
}

TEST(LaunchName, OfADeepScopeTheEndStays) {
  std::string scope = "outer";
  for (int i = 0; i < 40; ++i) scope += ".part";
  const std::string name = launch_name(2, "add", {Phase::forward, {}, scope + ".inner"});
  EXPECT_TRUE(name.ends_with("_part_inner"));
  EXPECT_TRUE(name.starts_with("k2_add_fwd_part_"));
  EXPECT_LE(name.size(), 80U);
  EXPECT_EQ(launch_name(2, "add", {Phase::forward, {}, std::string(200, 'x')}), "k2_add_fwd");
}

}  // namespace
}  // namespace stepc
