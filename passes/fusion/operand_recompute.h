#pragma once

#include "ir/cost/device_spec.h"
#include "passes/fusion/cluster_costs.h"
#include "passes/fusion/edges.h"
#include "passes/fusion/partition.h"

#include <set>
#include <vector>

namespace stepc {

// Where joining is refused: a cluster computes itself what it can make from what it reads anyway, so that nobody needs
// to store it.
class OperandRecompute {
 public:
  OperandRecompute(const Graph& graph, const DeviceSpec& device, Partition& partition, ClusterCosts& costs,
                   const FusionEdges& edges);

  // In every cluster, what pays.
  void run();
  // Copies a node, and what else is stored nowhere, into a cluster that reads it. Whether it did.
  bool try_copy(NodeId producer, int32_t cluster, ClusterCosts::Want want = ClusterCosts::Want::profit);

 private:
  std::set<NodeId> producers_of(int32_t cluster) const;
  bool add_to_slice(NodeId id, int32_t cluster, std::vector<NodeId>& slice) const;
  double share_of_storing(ValueId value) const;

  const Graph& graph_;
  const DeviceSpec& device_;
  Partition& partition_;
  ClusterCosts& costs_;
  const FusionEdges& edges_;
  std::set<ValueId> states_;  // their blocks
};

}  // namespace stepc
