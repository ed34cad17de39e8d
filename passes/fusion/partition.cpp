#include "passes/fusion/partition.h"

#include "passes/fusion/region_nodes.h"

#include <algorithm>

namespace stepc {

Partition::Partition(const Graph& graph)
    : graph_(graph),
      layouts_(graph),
      clusters_(graph),
      kept_(static_cast<size_t>(graph.value_limit())),
      copied_into_(static_cast<size_t>(graph.node_limit())),
      copies_(static_cast<size_t>(graph.node_count())) {
  for (const GraphInput& input : graph.inputs())
    kept_[static_cast<size_t>(input.value.index)] = graph.is_output(input.value);
  for (NodeId id = graph.last(); id.valid(); id = graph.previous(id)) {
    const Node& node = graph.node(id);
    for (const ValueId output : node.outputs)
      if (graph.is_output(output)) kept_[static_cast<size_t>(output.index)] = true;
    if (is_view(id) && is_kept(node.outputs[0])) kept_[static_cast<size_t>(node.inputs[0].index)] = true;
  }
}

NodeId Partition::producer(ValueId value) const {
  const ValueId block = layouts_.block(value);
  return is_free_source(graph_, block) ? kNoNode : graph_.value(block).producer;
}

void Partition::add_readers(ValueId value, NodeId maker, std::set<int32_t>& readers) const {
  std::vector<ValueId> pending{value};
  while (!pending.empty()) {
    const ValueId next = pending.back();
    pending.pop_back();
    for (const Use& use : graph_.value(next).uses) {
      if (is_view(use.node)) {
        pending.push_back(graph_.node(use.node).outputs[0]);
        continue;
      }
      const int32_t own = clusters_.of(use.node);
      if (!computes(own, maker)) readers.insert(own);
      for (const int32_t copy : copied_into_[static_cast<size_t>(use.node.index)])
        if (!computes(copy, maker)) readers.insert(copy);
    }
  }
}

std::set<int32_t> Partition::readers(ValueId value) const {
  std::set<int32_t> readers;
  add_readers(value, producer(value), readers);
  std::erase_if(readers, [&](int32_t cluster) {
    // A single node whose value everybody recomputes reads nothing. Larger clusters are not searched for such nodes.
    const std::vector<NodeId>& members = clusters_.members(cluster);
    return members.size() == 1 && !copied_into_[static_cast<size_t>(members[0].index)].empty() && is_dead(cluster);
  });
  return readers;
}

void Partition::add_views(NodeId reader, std::set<NodeId>& inside) const {
  for (const ValueId operand : graph_.node(reader).inputs) {
    if (!operand.valid() || !inside.contains(producer(operand))) continue;
    for (NodeId view = graph_.value(operand).producer; is_view(view);
         view = graph_.value(graph_.node(view).inputs[0]).producer)
      inside.insert(view);
  }
}

bool Partition::is_stored(ValueId value) const {
  const NodeId maker = producer(value);
  if (!maker.valid() || is_kept(value)) return true;
  return std::ranges::any_of(graph_.node(maker).outputs, [&](ValueId output) {
    return layouts_.block(output) == layouts_.block(value) && !readers(output).empty();
  });
}

Region Partition::region(std::initializer_list<int32_t> clusters, std::span<const NodeId> extra) const {
  std::set<NodeId> inside;
  std::vector<NodeId> members;
  for (const int32_t cluster : clusters) {
    members.insert(members.end(), clusters_.members(cluster).begin(), clusters_.members(cluster).end());
    inside.insert(copies(cluster).begin(), copies(cluster).end());
  }
  inside.insert(members.begin(), members.end());
  inside.insert(extra.begin(), extra.end());
  for (const NodeId node : std::vector<NodeId>(inside.begin(), inside.end())) add_views(node, inside);

  Region region{{inside.begin(), inside.end()}, {}};
  for (const NodeId member : members)
    for (const ValueId output : graph_.node(member).outputs) {
      const std::set<int32_t> outside = readers(output);
      const bool read =
          std::ranges::any_of(outside, [&](int32_t reader) { return std::ranges::count(clusters, reader) == 0; });
      if (read || is_kept(output)) region.results.push_back(output);
    }
  return region;
}

Outline Partition::outline(int32_t cluster) const {
  Region whole = region({cluster});
  Outline outline{clusters_.members(cluster), {}, std::move(whole.results)};
  for (const NodeId node : whole.nodes)
    if (clusters_.of(node) != cluster) outline.copies.push_back(node);
  return outline;
}

StepPart Partition::part(int32_t cluster) const {
  StepPart latest = StepPart::forward;
  for (const NodeId member : clusters_.members(cluster))
    latest = std::max(latest, part_of_step(graph_.node(member).origin.phase));
  return latest;
}

bool Partition::may_join(int32_t cluster) const {
  return std::ranges::all_of(clusters_.members(cluster), [&](NodeId id) { return stepc::may_join(graph_.node(id)); });
}

Refusal Partition::merge(int32_t producer, int32_t consumer) {
  switch (clusters_.merge(producer, consumer)) {
    case Clusters::Merge::cycle: return "a path through another kernel joins them too";
    case Clusters::Merge::too_far: return "too far apart";
    case Clusters::Merge::done: break;
  }
  const int32_t gone = clusters_.members(producer).empty() ? producer : consumer;
  const int32_t kept = gone == producer ? consumer : producer;
  for (const NodeId node : std::set<NodeId>(std::move(copies_[static_cast<size_t>(gone)]))) {
    std::erase(copied_into_[static_cast<size_t>(node.index)], gone);
    if (clusters_.of(node) != kept) copy_into(node, kept);
  }
  copies_[static_cast<size_t>(gone)].clear();
  for (const NodeId node : clusters_.members(kept))
    if (copies_[static_cast<size_t>(kept)].erase(node) != 0)
      std::erase(copied_into_[static_cast<size_t>(node.index)], kept);
  return std::nullopt;
}

void Partition::copy_into(NodeId node, int32_t cluster) {
  if (copies_[static_cast<size_t>(cluster)].insert(node).second)
    copied_into_[static_cast<size_t>(node.index)].push_back(cluster);
}

}  // namespace stepc
