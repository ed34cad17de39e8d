#include "passes/fusion/epilogue.h"

#include "ir/kernel/matmul.h"

#include <algorithm>

namespace stepc {

Refusal try_join_epilogue(const Graph& graph, Partition& partition, NodeId contraction, int32_t reader) {
  const Clusters& clusters = partition.clusters();
  std::vector<NodeId> nodes = clusters.members(reader);
  const auto adds = [&](NodeId id) { return graph.node(id).op == Op::add; };
  if (!std::ranges::all_of(nodes, adds)) return "the kernel that reads the product adds at no cost";
  if (partition.part(reader) != partition.part(clusters.of(contraction))) return "another part of the step";
  nodes.push_back(contraction);
  const std::optional<Product> product = product_of(graph, nodes);
  if (!product || !plan_matmul(graph, *product, layouts_of(partition.layouts())))
    return "an addition that the library does not carry";
  const Region joint = partition.region({clusters.of(contraction), reader});
  if (joint.results != std::vector<ValueId>{product->result}) return "others read the product before the addition";
  return partition.merge(clusters.of(contraction), reader);
}

}  // namespace stepc
