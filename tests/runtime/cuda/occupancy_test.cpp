// Blocks per multiprocessor, by hand. headers_test.cpp compares with NVIDIA's own calculation.
#include "runtime/cuda/occupancy.h"

#include <gtest/gtest.h>

namespace stepc::test {
namespace {

using cuda::Occupancy;
using cuda::occupancy;

TEST(OccupancyTest, ThreadsBoundSmallKernels) {
  const Occupancy result = occupancy({9, 0}, {.symbol = "k", .registers = 32}, 256, 0);
  EXPECT_EQ(result.blocks, 8);  // of 2048 threads
  EXPECT_EQ(result.fraction, 1);
  EXPECT_EQ(result.bound, "threads");
}

TEST(OccupancyTest, RegistersBoundWideKernels) {
  // 128 · 32 registers per warp, 4 warps per quarter of 16384: 16 warps, 2 blocks of 8.
  const Occupancy result = occupancy({8, 0}, {.symbol = "k", .registers = 128}, 256, 0);
  EXPECT_EQ(result.blocks, 2);
  EXPECT_EQ(result.fraction, 0.25);
  EXPECT_EQ(result.bound, "registers");
}

TEST(OccupancyTest, SharedMemoryBoundsTiles) {
  // 40 KiB + 8 KiB + 1 KiB of the driver's: 2 of 100 KiB.
  const Occupancy result = occupancy({8, 6}, {.symbol = "k", .registers = 32, .shared_bytes = 8 << 10}, 128, 40 << 10);
  EXPECT_EQ(result.blocks, 2);
  EXPECT_EQ(result.bound, "shared memory");
}

TEST(OccupancyTest, SlotsBoundTinyBlocks) {
  const Occupancy result = occupancy({8, 9}, {.symbol = "k", .registers = 16}, 32, 0);
  EXPECT_EQ(result.blocks, 24);
  EXPECT_EQ(result.fraction, 0.5);
  EXPECT_EQ(result.bound, "blocks");
}

TEST(OccupancyTest, WhatDoesNotFitRunsNowhere) {
  EXPECT_EQ(occupancy({12, 0}, {.symbol = "k", .registers = 255}, 1024, 0).blocks, 0);
  EXPECT_EQ(occupancy({12, 0}, {.symbol = "k", .registers = 32}, 64, 100 << 10).blocks, 0);
}

}  // namespace
}  // namespace stepc::test
