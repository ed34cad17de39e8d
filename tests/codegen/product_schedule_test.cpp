#include "codegen/cuda/product_schedule.h"

#include <gtest/gtest.h>

#include <string>

namespace stepc::cuda {
namespace {

std::string text_of(const ProductSchedule& schedule) {
  switch (schedule.form) {
    case ProductForm::plain: return "plain";
    case ProductForm::thin: return "thin";
    default: break;
  }
  return std::string(schedule.form == ProductForm::tensor ? "tensor " : "tiles ") + std::to_string(schedule.tile_m) +
         "x" + std::to_string(schedule.tile_n);
}

std::string chosen(const ProductSizes& sizes, Dtype dtype) {
  return text_of(schedule_product(sizes, dtype, dtype, dtype));
}

TEST(ProductSchedule, LargeResultsTakeLargeTilesSmallOnesFillTheDevice) {
  EXPECT_EQ(chosen({8192, 8192, 1024, 1}, Dtype::f32), "tiles 128x128");
  EXPECT_EQ(chosen({8192, 8192, 1024, 1}, Dtype::bf16), "tensor 128x128");
  // 64 tiles of 128 x 128 would leave half of the multiprocessors idle; 128 of 128 x 64 are one full round.
  EXPECT_EQ(chosen({1024, 1024, 1024, 1}, Dtype::f32), "tiles 128x64");
  EXPECT_EQ(chosen({64, 64, 64, 1}, Dtype::f32), "tiles 32x32");
  EXPECT_EQ(chosen({64, 64, 64, 1}, Dtype::f16), "tensor 32x32");
}

TEST(ProductSchedule, Tf32TakesTensorCoresWhereTilesWouldBeTaken) {
  const auto of = [](const ProductSizes& sizes) {
    return schedule_product(sizes, Dtype::f32, Dtype::f32, Dtype::f32, /*tf32=*/true);
  };
  const ProductSchedule large = of({8192, 8192, 1024, 1});
  EXPECT_EQ(text_of(large), "tensor 128x128");
  EXPECT_EQ(large.tile_depth, 16);
  EXPECT_EQ(large.shared_bytes, 48 * 1024);
  EXPECT_EQ(text_of(of({8, 768, 3072, 1})), "thin");
  EXPECT_EQ(text_of(of({1024, 1024, 1, 1})), "plain");
}

TEST(ProductSchedule, NarrowResultsTakeNarrowTiles) {
  EXPECT_EQ(chosen({65536, 32, 64, 1}, Dtype::f32), "tiles 128x32");
  EXPECT_EQ(chosen({32, 65536, 64, 1}, Dtype::f32), "tiles 32x128");
  EXPECT_EQ(chosen({128, 9, 64, 65}, Dtype::bf16), "tensor 128x64");
  EXPECT_EQ(chosen({9, 128, 64, 65}, Dtype::bf16), "tensor 64x128");
}

TEST(ProductSchedule, FewRowsSplitTheDepth) {
  EXPECT_EQ(chosen({1, 768, 3072, 1}, Dtype::f32), "thin");
  EXPECT_EQ(chosen({8, 768, 3072, 1}, Dtype::bf16), "thin");
  EXPECT_EQ(chosen({9, 768, 3072, 1}, Dtype::f32), "tiles 32x32");
  EXPECT_EQ(schedule_product({8, 33, 3072, 5}, Dtype::f32, Dtype::f32, Dtype::f32).blocks, 10);
}

TEST(ProductSchedule, OtherDtypesAndShallowProductsAreOneElementPerThread) {
  EXPECT_EQ(chosen({64, 64, 64, 1}, Dtype::f64), "plain");
  EXPECT_EQ(chosen({64, 64, 64, 1}, Dtype::i32), "plain");
  EXPECT_EQ(chosen({1024, 1024, 1, 1}, Dtype::f32), "plain");
  EXPECT_EQ(text_of(schedule_product({64, 64, 64, 1}, Dtype::bf16, Dtype::f32, Dtype::f32)), "plain");
  EXPECT_EQ(text_of(schedule_product({64, 64, 64, 1}, Dtype::bf16, Dtype::bf16, Dtype::f32)), "tensor 32x32");
  EXPECT_EQ(schedule_product({17, 19, 3, 5}, Dtype::f32, Dtype::f32, Dtype::f32).blocks, 7);
}

// What every device of sm_80 and up has: 48 KiB without opting in, whole warps, blocks that cover the result once.
TEST(ProductSchedule, FitsEveryDevice) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const int64_t m : {9, 64, 127, 1024, 50257})
      for (const int64_t n : {9, 64, 129, 4096})
        for (const int64_t points : {1, 12, 100}) {
          const ProductSchedule s = schedule_product({m, n, 768, points}, dtype, dtype, dtype);
          EXPECT_LE(s.shared_bytes, 48 * 1024);
          EXPECT_TRUE(s.threads % 32 == 0 && s.threads <= 256) << s.threads;
          EXPECT_EQ(s.blocks, (m + s.tile_m - 1) / s.tile_m * ((n + s.tile_n - 1) / s.tile_n) * points);
        }
}

}  // namespace
}  // namespace stepc::cuda
