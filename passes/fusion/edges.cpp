#include "passes/fusion/edges.h"

#include "ir/op_def.h"
#include "ir/support/error.h"
#include "ir/support/glob.h"

#include <algorithm>
#include <set>

namespace stepc {

FusionEdges::FusionEdges(const Graph& graph, const Partition& partition, std::span<const FusionOverride> overrides)
    : graph_(graph) {
  collect(partition);
  if (!overrides.empty()) apply(overrides);
}

void FusionEdges::collect(const Partition& partition) {
  const auto is_kernel = [&](NodeId id) {
    const Node& node = graph_.node(id);
    return node.op == Op::random || (op_def(node.op).kind != OpKind::source && !partition.layouts().is_alias(node));
  };
  for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
    if (!is_kernel(id)) continue;
    std::set<NodeId> seen;
    for (const ValueId operand : graph_.node(id).inputs)
      if (operand.valid())
        if (const NodeId producer = partition.producer(operand);
            producer.valid() && is_kernel(producer) && seen.insert(producer).second)
          edges_.push_back({producer, id, EdgeRule::none, {}, {}});
  }
}

void FusionEdges::apply(std::span<const FusionOverride> overrides) {
  std::vector<bool> used(overrides.size(), false);
  for (FusionEdge& edge : edges_) {
    const std::string producer = edge_end(graph_, edge.producer), consumer = edge_end(graph_, edge.consumer);
    for (size_t i = 0; i < overrides.size(); ++i) {
      const FusionOverride& rule = overrides[i];
      if (!glob_matches(rule.producer, producer) || !glob_matches(rule.consumer, consumer)) continue;
      used[i] = true;
      edge.rule = rule.force ? EdgeRule::forced : EdgeRule::forbidden;
      edge.where = rule.where;
    }
    if (edge.rule != EdgeRule::forbidden) continue;
    forbidden_[edge.producer].push_back(edge.consumer);
    forbidden_[edge.consumer].push_back(edge.producer);
  }
  for (size_t i = 0; i < overrides.size(); ++i)
    if (!used[i])
      user_error("{}: no edge is {} -> {}; the report of --json lists all under 'fusion'", overrides[i].where,
                 overrides[i].producer, overrides[i].consumer);
}

bool FusionEdges::forbids(const Partition& partition, std::initializer_list<int32_t> clusters,
                          std::span<const NodeId> extra) const {
  if (forbidden_.empty()) return false;
  std::set<NodeId> inside(extra.begin(), extra.end());
  for (const int32_t cluster : clusters) {
    const std::vector<NodeId>& members = partition.clusters().members(cluster);
    inside.insert(members.begin(), members.end());
    inside.insert(partition.copies(cluster).begin(), partition.copies(cluster).end());
  }
  return std::ranges::any_of(inside, [&](NodeId id) {
    const auto partners = forbidden_.find(id);
    return partners != forbidden_.end() &&
           std::ranges::any_of(partners->second, [&](NodeId partner) { return inside.contains(partner); });
  });
}

std::vector<FusionVerdict> FusionEdges::verdicts(const Partition& partition) const {
  std::vector<FusionVerdict> result;
  for (const FusionEdge& edge : edges_) {
    const int32_t cluster = partition.clusters().of(edge.consumer);
    FusionVerdict verdict{edge_end(graph_, edge.producer), edge_end(graph_, edge.consumer), true, "one kernel"};
    if (partition.copies(cluster).contains(edge.producer))
      verdict.reason = "recomputed in the consumer";
    else if (partition.clusters().of(edge.producer) != cluster)
      verdict.fused = false, verdict.reason = edge.reason;
    if (edge.rule != EdgeRule::none) verdict.reason = edge.rule == EdgeRule::forced ? "forced" : "forbidden";
    result.push_back(std::move(verdict));
  }
  return result;
}

std::string FusionEdges::text(const FusionEdge& edge) const {
  return fmt::format("{} -> {}", edge_end(graph_, edge.producer), edge_end(graph_, edge.consumer));
}

}  // namespace stepc
