#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <vector>

namespace stepc {

// A partition of a graph's nodes into clusters that stays acyclic, with a topological order of the clusters.
//
// The order is kept as in Pearce and Kelly (2006), "A dynamic topological sort algorithm for directed acyclic graphs":
// merging two clusters searches and rearranges only what lies between them. Merges across more than kWindow clusters
// are refused, which bounds each merge and keeps the whole near-linear.
class Clusters {
 public:
  static constexpr int32_t kWindow = 1024;

  explicit Clusters(const Graph& graph);

  int32_t of(NodeId node) const { return cluster_of_[static_cast<size_t>(node.index)]; }
  const std::vector<NodeId>& members(int32_t cluster) const { return members_[static_cast<size_t>(cluster)]; }

  enum class Merge : uint8_t { done, cycle, too_far };
  // Merges a cluster with one that reads from it. `cycle`: a path through a third cluster joins them too.
  Merge merge(int32_t producer, int32_t consumer);

  // Clusters in topological order, and where each one stands in it.
  std::vector<int32_t> order() const;
  int32_t position(int32_t cluster) const { return position_[static_cast<size_t>(cluster)]; }

 private:
  template <typename Visit>
  void for_each_successor(int32_t cluster, Visit visit) const;

  const Graph& graph_;
  std::vector<int32_t> cluster_of_;           // per node index
  std::vector<std::vector<NodeId>> members_;  // per cluster; empty once merged away
  std::vector<int32_t> position_;             // per cluster: its slot
  std::vector<int32_t> slots_;                // cluster in each slot, -1 where merged away
  std::vector<int32_t> mark_;                 // per cluster: the search that reached it last
  int32_t search_ = 0;
};

}  // namespace stepc
