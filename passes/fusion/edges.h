#pragma once

#include "passes/fusion/override.h"
#include "passes/fusion/partition.h"
#include "passes/fusion/verdict.h"

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stepc {

// What the user says of an edge.
enum class EdgeRule : uint8_t { none, forced, forbidden };

struct FusionEdge {
  NodeId producer, consumer;  // views between them aside
  EdgeRule rule{};
  std::string where;   // of the rule
  std::string reason;  // why it was not fused, so far
};

// All edges of a graph, by consumer in the graph's order, with the rules that overrides make of them: the last one that
// matches an edge decides.
class FusionEdges {
 public:
  // Throws UserError for an override that matches no edge.
  FusionEdges(const Graph& graph, const Partition& partition, std::span<const FusionOverride> overrides);

  std::vector<FusionEdge>& all() { return edges_; }
  // Whether a kernel of these clusters, and of `extra` nodes, would hold both ends of a forbidden edge.
  bool forbids(const Partition& partition, std::initializer_list<int32_t> clusters,
               std::span<const NodeId> extra = {}) const;
  std::vector<FusionVerdict> verdicts(const Partition& partition) const;
  // "producer -> consumer", as in overrides.
  std::string text(const FusionEdge& edge) const;

 private:
  void collect(const Partition& partition);
  void apply(std::span<const FusionOverride> overrides);

  std::string end(NodeId node) const { return edge_end(graph_, names_, node); }

  const Graph& graph_;
  const ValueNames names_;
  std::vector<FusionEdge> edges_;
  std::map<NodeId, std::vector<NodeId>> forbidden_;  // both ways
};

}  // namespace stepc
