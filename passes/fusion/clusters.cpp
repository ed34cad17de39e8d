#include "passes/fusion/clusters.h"

#include <utility>

namespace stepc {

Clusters::Clusters(const Graph& graph) : graph_(graph), cluster_of_(static_cast<size_t>(graph.node_limit()), -1) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const auto cluster = static_cast<int32_t>(members_.size());
    cluster_of_[static_cast<size_t>(id.index)] = cluster;
    members_.push_back({id});
    position_.push_back(cluster);
    slots_.push_back(cluster);
  }
  mark_.assign(members_.size(), 0);
}

template <typename Visit>
void Clusters::for_each_successor(int32_t cluster, Visit visit) const {
  for (const NodeId member : members(cluster))
    for (const ValueId output : graph_.node(member).outputs)
      for (const Use& use : graph_.value(output).uses)
        if (const int32_t successor = of(use.node); successor != cluster) visit(successor);
}

Clusters::Merge Clusters::merge(int32_t producer, int32_t consumer) {
  const int32_t begin = position_[static_cast<size_t>(producer)];
  const int32_t end = position_[static_cast<size_t>(consumer)];
  if (end - begin > kWindow) return Merge::too_far;

  // What the producer reaches strictly between the two; reaching the consumer from there is a cycle.
  ++search_;
  bool cycle = false;
  std::vector<int32_t> pending;
  const auto reach = [&](int32_t cluster) {
    if (cluster == consumer || position_[static_cast<size_t>(cluster)] > end) return;
    if (std::exchange(mark_[static_cast<size_t>(cluster)], search_) != search_) pending.push_back(cluster);
  };
  for_each_successor(producer, reach);
  while (!pending.empty() && !cycle) {
    const int32_t cluster = pending.back();
    pending.pop_back();
    for_each_successor(cluster, [&](int32_t successor) {
      cycle = cycle || successor == consumer;
      reach(successor);
    });
  }
  if (cycle) return Merge::cycle;

  // New order of the window: what the producer does not reach, the merged cluster, what it reaches.
  std::vector<int32_t> before;
  std::vector<int32_t> after;
  for (int32_t slot = begin + 1; slot < end; ++slot) {
    const int32_t cluster = slots_[static_cast<size_t>(slot)];
    if (cluster >= 0) (mark_[static_cast<size_t>(cluster)] == search_ ? after : before).push_back(cluster);
  }
  int32_t kept = producer;
  int32_t gone = consumer;
  if (members(kept).size() < members(gone).size()) std::swap(kept, gone);
  auto& into = members_[static_cast<size_t>(kept)];
  for (const NodeId member : members(gone)) {
    cluster_of_[static_cast<size_t>(member.index)] = kept;
    into.push_back(member);
  }
  members_[static_cast<size_t>(gone)].clear();

  int32_t slot = begin;
  const auto place = [&](int32_t cluster) {
    slots_[static_cast<size_t>(slot)] = cluster;
    position_[static_cast<size_t>(cluster)] = slot++;
  };
  for (const int32_t cluster : before) place(cluster);
  place(kept);
  for (const int32_t cluster : after) place(cluster);
  while (slot <= end) slots_[static_cast<size_t>(slot++)] = -1;
  return Merge::done;
}

std::vector<int32_t> Clusters::order() const {
  std::vector<int32_t> result;
  for (const int32_t cluster : slots_)
    if (cluster >= 0) result.push_back(cluster);
  return result;
}

}  // namespace stepc
