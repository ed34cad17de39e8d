#include "passes/memory/arena.h"

#include <gtest/gtest.h>

#include <random>

namespace stepc {
namespace {

void expect_disjoint(const std::vector<Tenant>& tenants, const ArenaLayout& layout) {
  for (size_t a = 0; a < tenants.size(); ++a) {
    EXPECT_EQ(layout.offsets[a] % kArenaAlignment, 0);
    EXPECT_LE(layout.offsets[a] + tenants[a].bytes, layout.bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool same_time = tenants[a].first <= tenants[b].last && tenants[b].first <= tenants[a].last;
      const bool same_place = layout.offsets[a] < layout.offsets[b] + tenants[b].bytes &&
                              layout.offsets[b] < layout.offsets[a] + tenants[a].bytes;
      EXPECT_FALSE(same_time && same_place) << "tenants " << a << " and " << b;
    }
  }
}

TEST(Arena, EmptyTakesNothing) {
  EXPECT_EQ(lay_out_arena({}).bytes, 0);
  EXPECT_EQ(lay_out_arena({{0, 0, 3}}).bytes, 0);
}

TEST(Arena, DeadBlocksAreReused) {
  const std::vector<Tenant> tenants{{100, 0, 1}, {100, 2, 3}, {64, 1, 2}};
  const ArenaLayout layout = lay_out_arena(tenants);
  expect_disjoint(tenants, layout);
  EXPECT_EQ(layout.bytes, 192);  // 128 aligned, and 64 beside it
}

// Saved tensors: made in order, freed in reverse, with a temporary at each step. A stack needs no byte more than is
// live.
TEST(Arena, StackOfSavedTensorsIsTight) {
  std::vector<Tenant> tenants;
  for (int32_t i = 0; i < 50; ++i) {
    tenants.push_back({1024 * (1 + i % 7), 2 * i, 200 - i});
    tenants.push_back({4096, 2 * i, 2 * i + 1});
  }
  const ArenaLayout layout = lay_out_arena(tenants);
  expect_disjoint(tenants, layout);
  EXPECT_EQ(layout.bytes, max_live_bytes(tenants));
}

TEST(Arena, RandomTenantsNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Tenant> tenants;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<int32_t>(random() % 40);
      tenants.push_back({static_cast<int64_t>(random() % 5000), first, first + static_cast<int32_t>(random() % 20)});
    }
    const ArenaLayout layout = lay_out_arena(tenants);
    expect_disjoint(tenants, layout);
    EXPECT_GE(layout.bytes, max_live_bytes(tenants));
  }
}

// Beyond 8192 tenants only the order of time is tried. A window slides over them: each step's few blocks lie where
// those of the steps before lay.
TEST(Arena, ManyTenants) {
  std::vector<Tenant> tenants;
  for (int32_t i = 0; i < 10000; ++i) tenants.push_back({64 * (1 + i % 3), i, i + 4});
  const ArenaLayout layout = lay_out_arena(tenants);
  EXPECT_LE(layout.bytes, 2 * max_live_bytes(tenants));
  for (size_t a = 0; a < tenants.size(); ++a)
    for (size_t b = a + 1; b < std::min(a + 5, tenants.size()); ++b)
      EXPECT_TRUE(layout.offsets[a] + tenants[a].bytes <= layout.offsets[b] ||
                  layout.offsets[b] + tenants[b].bytes <= layout.offsets[a])
          << "tenants " << a << " and " << b;
}

}  // namespace
}  // namespace stepc
