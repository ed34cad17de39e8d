#include "passes/fusion/epilogue.h"

#include "ir/kernel/matmul.h"
#include "passes/fusion/step_part.h"

#include <algorithm>

namespace stepc {

std::optional<std::string> why_no_epilogue(const Graph& graph, Partition& partition, NodeId contraction,
                                           int32_t reader) {
  Clusters& clusters = partition.clusters();
  std::vector<NodeId> nodes = clusters.members(reader);
  const auto adds = [&](NodeId id) { return graph.node(id).op == Op::add; };
  if (!std::ranges::all_of(nodes, adds)) return "the kernel that reads the product adds at no cost";
  const auto part = [&](NodeId id) { return part_of_step(graph.node(id).origin.phase); };
  if (part(nodes[0]) != part(contraction)) return "another part of the step";
  nodes.push_back(contraction);
  const std::optional<Product> product = product_of(graph, nodes);
  if (!product || !plan_matmul(graph, *product, layouts_of(partition.layouts())))
    return "an addition that the library does not carry";
  const Region joint = partition.region({clusters.of(contraction), reader});
  if (joint.results != std::vector<ValueId>{product->result}) return "others read the product before the addition";
  switch (partition.merge(clusters.of(contraction), reader)) {
    case Clusters::Merge::cycle: return "a path through another kernel joins them too";
    case Clusters::Merge::too_far: return "too far apart";
    case Clusters::Merge::done: break;
  }
  return std::nullopt;
}

}  // namespace stepc
