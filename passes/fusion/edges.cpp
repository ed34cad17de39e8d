#include "passes/fusion/edges.h"

#include "ir/op_def.h"
#include "ir/support/error.h"
#include "ir/support/glob.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace stepc {
namespace {

// Finds the overrides that match an edge without asking all of them.
class OverrideIndex {
 public:
  explicit OverrideIndex(std::span<const FusionOverride> overrides);
  // Their numbers, for an edge between these two ends.
  std::vector<size_t> matching(const std::string& producer, const std::string& consumer) const;

 private:
  std::span<const FusionOverride> overrides_;
  std::unordered_map<std::string, std::vector<size_t>> by_producer_, by_consumer_;  // of those that name this end
  std::vector<size_t> others_;                                                      // globs at both ends
};

OverrideIndex::OverrideIndex(std::span<const FusionOverride> overrides) : overrides_(overrides) {
  const auto is_glob = [](const std::string& text) { return text.find_first_of("*?") != std::string::npos; };
  for (size_t i = 0; i < overrides.size(); ++i) {
    const std::string &producer = overrides[i].producer, &consumer = overrides[i].consumer;
    if (!is_glob(producer))
      by_producer_[producer].push_back(i);
    else if (!is_glob(consumer))
      by_consumer_[consumer].push_back(i);
    else
      others_.push_back(i);
  }
}

std::vector<size_t> OverrideIndex::matching(const std::string& producer, const std::string& consumer) const {
  std::vector<size_t> result;
  const auto try_all = [&](const std::vector<size_t>& candidates) {
    for (const size_t i : candidates)
      if (glob_matches(overrides_[i].producer, producer) && glob_matches(overrides_[i].consumer, consumer))
        result.push_back(i);
  };
  if (const auto named = by_producer_.find(producer); named != by_producer_.end()) try_all(named->second);
  if (const auto named = by_consumer_.find(consumer); named != by_consumer_.end()) try_all(named->second);
  try_all(others_);
  return result;
}

}  // namespace

FusionEdges::FusionEdges(const Graph& graph, const Partition& partition, std::span<const FusionOverride> overrides)
    : graph_(graph), names_(graph) {
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
  const OverrideIndex index(overrides);
  std::vector<bool> used(overrides.size(), false);
  for (FusionEdge& edge : edges_) {
    size_t last = 0;
    for (const size_t i : index.matching(end(edge.producer), end(edge.consumer))) {
      used[i] = true;
      last = std::max(last, i);
      edge.rule = overrides[last].force ? EdgeRule::forced : EdgeRule::forbidden;
      edge.where = overrides[last].where;
    }
    if (edge.rule != EdgeRule::forbidden) continue;
    forbidden_[edge.producer].push_back(edge.consumer);
    forbidden_[edge.consumer].push_back(edge.producer);
  }
  for (size_t i = 0; i < overrides.size(); ++i)
    if (!used[i])
      user_error(
          "{}: no edge is {} -> {}; the report of --json lists all under 'fusion' (that of a head and its loss is "
          "decided before: --fuse-loss)",
          overrides[i].where, overrides[i].producer, overrides[i].consumer);
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
    FusionVerdict verdict{end(edge.producer), end(edge.consumer), true, "one kernel"};
    if (partition.copies(cluster).contains(edge.producer))
      verdict.reason = "recomputed in the consumer";
    else if (partition.clusters().of(edge.producer) != cluster)
      verdict.fused = false, verdict.reason = edge.reason;
    if (edge.rule == EdgeRule::forced)
      verdict.reason =
          partition.copies(cluster).contains(edge.producer) ? "forced, recomputed in the consumer" : "forced";
    if (edge.rule == EdgeRule::forbidden) verdict.reason = "forbidden";
    result.push_back(std::move(verdict));
  }
  return result;
}

std::string FusionEdges::text(const FusionEdge& edge) const {
  return fmt::format("{} -> {}", end(edge.producer), end(edge.consumer));
}

}  // namespace stepc
