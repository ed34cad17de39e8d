// Pairs of queries and keys in closed form, against counting each one.
#include "ir/attention.h"
#include "ir/kernel/attention.h"

#include <gtest/gtest.h>

#include <random>

namespace stepc {
namespace {

class Draw {
 public:
  int64_t operator()(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(generator_);
  }

 private:
  std::mt19937 generator_{7};
};

Attention attention_of(int64_t queries, int64_t keys) {
  Attention a;
  a.batch = a.heads = 1;
  a.queries = queries, a.keys = keys;
  return a;
}

// Limits around both ends of the keys, or none.
Attention random_attention(Draw& draw) {
  Attention a = attention_of(draw(0, 300), draw(0, 300));
  a.batch = draw(1, 2), a.heads = draw(1, 2);
  if (draw(0, 3) > 0) a.greatest_distance = draw(-320, 320);
  if (draw(0, 2) > 0) a.least_distance = a.greatest_distance.value_or(draw(-320, 320)) - draw(0, 100);
  return a;
}

TEST(AttentionPairs, AreTheSumOverTheQueries) {
  Draw draw;
  for (int i = 0; i < 2000; ++i) {
    const Attention a = random_attention(draw);
    int64_t count = 0;
    for (int64_t query = 0; query < a.queries; ++query) count += a.keys_of(query).end - a.keys_of(query).begin;
    ASSERT_EQ(a.pairs(), a.batch * a.heads * count) << a.queries << " queries, " << a.keys << " keys";
  }
}

TEST(AttentionPairs, OfManyQueriesTakeNoTime) {
  const int64_t n = 3'000'000'000;  // n(n + 1)/2 fits 64 bits, n(n + 1) does not
  Attention a = attention_of(n, n);
  a.greatest_distance = 0;
  EXPECT_EQ(a.pairs(), n / 2 * (n + 1));
}

// A pair of tiles counts where a pair of theirs is within the limits.
TileWalk counted(const AttentionWork& work) {
  const Attention& a = work.attention;
  TileWalk walk;
  for (int64_t query = 0; query < a.queries; query += work.query_tile)
    for (int64_t key = 0; key < a.keys; key += work.key_tile) {
      const int64_t rows = std::min(work.query_tile, a.queries - query), keys = std::min(work.key_tile, a.keys - key);
      const int64_t least = key - (query + rows - 1), greatest = key + keys - 1 - query;  // of the distances in it
      if (greatest < work.least_distance || least > work.greatest_distance) continue;
      walk.pairs += rows * keys;
      walk.query_rows += rows;
      walk.key_rows += keys;
    }
  return walk;
}

TEST(AttentionTiles, AreThoseWithAPair) {
  Draw draw;
  for (int i = 0; i < 2000; ++i) {
    AttentionWork work;
    work.attention = random_attention(draw);
    const Attention& a = work.attention;
    work.least_distance = a.least_distance.value_or(-a.queries - a.keys);
    work.greatest_distance = a.greatest_distance.value_or(a.queries + a.keys);
    work.query_tile = 16 * draw(1, 4);
    work.key_tile = 16 * draw(1, 4);
    const TileWalk walk = walk_tiles(work), expected = counted(work);
    ASSERT_EQ(walk.pairs, expected.pairs);
    ASSERT_EQ(walk.query_rows, expected.query_rows);
    ASSERT_EQ(walk.key_rows, expected.key_rows);
  }
}

TEST(AttentionTiles, OfManyQueriesTakeNoTime) {
  const int64_t n = int64_t{1} << 31;  // in tiles of 64 a triangle with its diagonal
  AttentionWork work;
  work.attention = attention_of(n, n);
  work.least_distance = -2 * n;
  work.query_tile = work.key_tile = 64;
  EXPECT_EQ(walk_tiles(work).pairs, n / 64 * (n / 64 + 1) / 2 * 64 * 64);
  work.attention.queries = n << 24;
  work.attention.keys = 1;
  work.greatest_distance = n;
  work.least_distance = -2 * (n << 24);
  EXPECT_EQ(walk_tiles(work).pairs, n << 24);
}

}  // namespace
}  // namespace stepc
