#include "passes/fusion/clusters.h"

#include "ir/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace stepc {
namespace {

constexpr int kNodes = 40;

// Each node adds two of those before it, near ones more often.
Graph random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  Graph graph;
  std::vector<ValueId> values{graph.add_input({Dtype::f32, {}}, InputRole::data, "x")};
  Builder b(graph);
  const auto any = [&] { return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 8)]; };
  for (int i = 0; i < kNodes; ++i) {
    const ValueId left = any(), right = any();
    values.push_back(b.add(left, right));
  }
  return graph;
}

class Checker {
 public:
  Checker(const Graph& graph, const Clusters& clusters) : graph_(graph), clusters_(clusters) {}

  std::vector<int32_t> successors(int32_t cluster) const {
    std::vector<int32_t> result;
    for (const NodeId member : clusters_.members(cluster))
      for (const Use& use : graph_.value(graph_.node(member).outputs[0]).uses)
        if (clusters_.of(use.node) != cluster) result.push_back(clusters_.of(use.node));
    return result;
  }

  // Whether a path leads from one to the other through a third.
  bool is_joined_by_another(int32_t producer, int32_t consumer) const {
    std::set<int32_t> reached;
    std::vector<int32_t> pending = successors(producer);
    std::erase(pending, consumer);
    while (!pending.empty()) {
      const int32_t cluster = pending.back();
      pending.pop_back();
      if (cluster == consumer) return true;
      if (!reached.insert(cluster).second) continue;
      const std::vector<int32_t> next = successors(cluster);
      pending.insert(pending.end(), next.begin(), next.end());
    }
    return false;
  }

  void expect_topological() const {
    std::set<NodeId> seen;
    for (const int32_t cluster : clusters_.order()) {
      for (const int32_t successor : successors(cluster))
        EXPECT_LT(clusters_.position(cluster), clusters_.position(successor));
      for (const NodeId member : clusters_.members(cluster)) {
        EXPECT_EQ(clusters_.of(member), cluster);
        EXPECT_TRUE(seen.insert(member).second);
      }
    }
    EXPECT_EQ(seen.size(), graph_.node_count());
  }

 private:
  const Graph& graph_;
  const Clusters& clusters_;
};

TEST(Clusters, AMergeIsACycleExactlyWhereAPathLeadsThroughAnother) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_graph(seed);
    Clusters clusters(graph);
    const Checker checker(graph, clusters);
    std::mt19937 random(seed);
    int merged = 0, refused = 0;
    for (int i = 0; i < 60; ++i) {
      const std::vector<int32_t> order = clusters.order();
      const int32_t producer = order[random() % order.size()];
      const std::vector<int32_t> consumers = checker.successors(producer);
      if (consumers.empty()) continue;
      const int32_t consumer = consumers[random() % consumers.size()];
      const bool cycle = checker.is_joined_by_another(producer, consumer);
      EXPECT_EQ(clusters.merge(producer, consumer), cycle ? Clusters::Merge::cycle : Clusters::Merge::done);
      ++(cycle ? refused : merged);
      checker.expect_topological();
    }
    EXPECT_GT(merged, 0);
    EXPECT_GT(refused, 0);
  }
}

TEST(Clusters, WhatStandsTooFarApartIsLeftAlone) {
  Graph graph;
  const ValueId x = graph.add_input({Dtype::f32, {}}, InputRole::data, "x");
  Builder b(graph);
  const ValueId first = b.unary(Op::exp, x);
  const ValueId within = b.unary(Op::neg, first);
  for (int32_t i = 0; i < Clusters::kWindow; ++i) b.unary(Op::neg, x);
  const ValueId beyond = b.unary(Op::neg, first);
  Clusters clusters(graph);
  const auto of = [&](ValueId value) { return clusters.of(graph.value(value).producer); };
  EXPECT_EQ(clusters.merge(of(first), of(beyond)), Clusters::Merge::too_far);
  EXPECT_EQ(clusters.merge(of(first), of(within)), Clusters::Merge::done);
}

}  // namespace
}  // namespace stepc
