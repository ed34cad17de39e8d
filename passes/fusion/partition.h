#pragma once

#include "ir/kernel.h"
#include "ir/layout.h"
#include "passes/fusion/clusters.h"
#include "passes/fusion/outline.h"
#include "passes/fusion/step_part.h"

#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace stepc {

// Why something is not fused; nothing where it is.
using Refusal = std::optional<std::string>;

// Clusters of which each computes its own nodes and copies of others': who reads what under such a partition, and which
// region (ir/kernel.h) a cluster is. Views that alias belong to nobody; a region takes along those between its nodes.
class Partition {
 public:
  explicit Partition(const Graph& graph);

  Clusters& clusters() { return clusters_; }
  const Clusters& clusters() const { return clusters_; }
  const Layouts& layouts() const { return layouts_; }
  const std::set<NodeId>& copies(int32_t cluster) const { return copies_[static_cast<size_t>(cluster)]; }

  bool computes(int32_t cluster, NodeId node) const {
    return node.valid() && (clusters_.of(node) == cluster || copies(cluster).contains(node));
  }
  // Of its latest node: a loss that is made with its gradients belongs to the backward.
  StepPart part(int32_t cluster) const;
  // Whether all its nodes may be in a region with others (region_nodes.h).
  bool may_join(int32_t cluster) const;
  // The node behind aliasing views, kNoNode for an input or a source that costs nothing (is_free_source).
  NodeId producer(ValueId value) const;
  // Clusters that read a value in memory, through views too: not those that make or recompute it. Sorted.
  std::set<int32_t> readers(ValueId value) const;
  // Whether nothing reads the cluster's results: its readers recompute them, or it has none.
  bool is_dead(int32_t cluster) const { return region({cluster}).results.empty(); }

  // Whether the graph's caller reads a value or a view of it.
  bool is_kept(ValueId value) const { return kept_[static_cast<size_t>(value.index)]; }
  // Whether a value lies in memory: it comes from outside, or something other than its maker reads it.
  bool is_stored(ValueId value) const;

  // Some clusters as one region; `extra` is computed in it as well.
  Region region(std::initializer_list<int32_t> clusters, std::span<const NodeId> extra = {}) const;
  Outline outline(int32_t cluster) const;

  // As Clusters::merge.
  Refusal merge(int32_t producer, int32_t consumer);
  void copy_into(NodeId node, int32_t cluster);

 private:
  bool is_view(NodeId node) const { return layouts_.is_alias(graph_.node(node)); }
  void add_readers(ValueId value, NodeId maker, std::set<int32_t>& readers) const;
  void add_views(NodeId reader, std::set<NodeId>& inside) const;

  const Graph& graph_;
  const Layouts layouts_;
  Clusters clusters_;
  std::vector<bool> kept_;                         // per value
  std::vector<std::vector<int32_t>> copied_into_;  // per node index: the clusters with a copy
  std::vector<std::set<NodeId>> copies_;           // per cluster
};

}  // namespace stepc
