#include "passes/fusion/pointwise.h"

#include "ir/op_def.h"
#include "ir/plain_reduction.h"
#include "passes/fusion/clusters.h"
#include "passes/fusion/outline.h"
#include "passes/fusion/step_part.h"

#include <algorithm>

namespace stepc {
namespace {

// Beyond this a kernel has more live values and pointers than registers, and compile time grows for nothing.
constexpr size_t kMaxBodyNodes = 64;
constexpr size_t kMaxOperands = 24;

bool is_pointwise(const Node& node) { return op_def(node.op).kind == OpKind::pointwise; }

class PointwiseFuser {
 public:
  explicit PointwiseFuser(Graph& graph) : graph_(graph), clusters_(graph) {}

  bool run() {
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id))
      if (is_pointwise(graph_.node(id))) join_producers(id);
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id))
      if (is_plain_reduction(graph_.node(id).op)) end_with_reduction(id);
    return rewrite();
  }

 private:
  void join_producers(NodeId consumer) {
    const Node& node = graph_.node(consumer);
    for (const ValueId operand : node.inputs) {
      const NodeId producer = graph_.value(operand).producer;
      if (!producer.valid() || !is_pointwise(graph_.node(producer)) || clusters_.of(producer) == clusters_.of(consumer))
        continue;
      if (graph_.shape(operand) == graph_.shape(node.outputs[0]) && same_part(producer, consumer))
        try_merge(clusters_.of(producer), clusters_.of(consumer));
    }
  }

  bool same_part(NodeId a, NodeId b) const {
    return part_of_step(graph_.node(a).origin.phase) == part_of_step(graph_.node(b).origin.phase);
  }

  void try_merge(int32_t producer, int32_t consumer) {
    std::vector<NodeId> both = clusters_.members(producer);
    both.insert(both.end(), clusters_.members(consumer).begin(), clusters_.members(consumer).end());
    if (both.size() <= kMaxBodyNodes && external_operands(graph_, both).size() <= kMaxOperands)
      clusters_.merge(producer, consumer);
  }

  void end_with_reduction(NodeId reduction) {
    const ValueId operand = graph_.node(reduction).inputs[0];
    const NodeId producer = graph_.value(operand).producer;
    if (!producer.valid() || !is_pointwise(graph_.node(producer)) || !same_part(producer, reduction)) return;
    const std::vector<ValueId> results = external_results(graph_, clusters_.members(clusters_.of(producer)));
    const bool only_reader = graph_.value(operand).uses.size() == 1 && !graph_.is_output(operand);
    if (only_reader && results == std::vector<ValueId>{operand})
      clusters_.merge(clusters_.of(producer), clusters_.of(reduction));
  }

  // Outlines every cluster of several nodes and puts all nodes into the clusters' order.
  bool rewrite() {
    const std::vector<int32_t> order = clusters_.order();
    if (std::ranges::all_of(order, [&](int32_t cluster) { return clusters_.members(cluster).size() == 1; }))
      return false;
    Outliner outliner(graph_);
    for (const int32_t cluster : order) {
      const std::vector<NodeId>& members = clusters_.members(cluster);
      if (members.size() > 1)
        outliner.add({members, {}, external_results(graph_, members)});
      else
        graph_.move_before(members[0], kNoNode);
    }
    outliner.finish();
    return true;
  }

  Graph& graph_;
  Clusters clusters_;
};

}  // namespace

bool fuse_pointwise(Graph& graph) { return PointwiseFuser(graph).run(); }

}  // namespace stepc
