#include "passes/fusion/loss_with_gradients.h"

#include "passes/fusion/step_part.h"

#include <algorithm>
#include <string>

namespace stepc {
namespace {

// The loss over the same operands, kNoNode if there is none.
NodeId loss_of(const Graph& graph, const Node& backward) {
  const auto same = [&](const Node& loss) {
    const bool bias = backward.inputs.size() > 4;
    return loss.op == Op::linear_cross_entropy && loss.inputs.size() == (bias ? 4U : 3U) &&
           std::equal(loss.inputs.begin(), loss.inputs.begin() + 3, backward.inputs.begin()) &&
           (!bias || loss.inputs[3] == backward.inputs[4]) && std::ranges::all_of(loss.attrs, [&](const auto& attr) {
             return *backward.attrs.find(attr.first) == attr.second;
           });
  };
  for (const Use& use : graph.value(backward.inputs[0]).uses)
    if (same(graph.node(use.node))) return use.node;
  return kNoNode;
}

Refusal try_join(const Graph& graph, Partition& partition, NodeId loss, NodeId backward) {
  for (const Use& use : graph.value(graph.node(loss).outputs[0]).uses) {
    if (use.node == backward) return "the gradient of the loss depends on the loss";
    if (part_of_step(graph.node(use.node).origin.phase) == StepPart::forward) return "the forward reads the loss";
  }
  return partition.merge(partition.clusters().of(loss), partition.clusters().of(backward));
}

}  // namespace

void join_losses_with_gradients(const Graph& graph, Partition& partition, std::vector<FusionVerdict>& verdicts) {
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    if (graph.node(id).op != Op::linear_cross_entropy_backward) continue;
    const NodeId loss = loss_of(graph, graph.node(id));
    if (!loss.valid()) continue;
    const Refusal refusal = try_join(graph, partition, loss, id);
    verdicts.push_back({edge_end(graph, loss), edge_end(graph, id), !refusal,
                        refusal.value_or("one kernel: the logits are made once")});
  }
}

}  // namespace stepc
