#include "passes/memory/loss_at_peak.h"

#include "ir/support/checked.h"
#include "passes/memory/timeline.h"

#include <fmt/format.h>

#include <optional>

namespace stepc {
namespace {

// Of the logits [N.., C] that a linear cross-entropy, or a fused node with one, never stores: x [N.., D] and w [C, D].
std::optional<int64_t> logits_bytes(const Graph& graph, const Node& node) {
  if (node.op == Op::fused) {
    for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
      if (const std::optional<int64_t> bytes = logits_bytes(*node.body, node.body->node(id))) return bytes;
    return std::nullopt;
  }
  if (node.op != Op::linear_cross_entropy && node.op != Op::linear_cross_entropy_backward) return std::nullopt;
  const Shape &x = graph.shape(node.inputs[0]), &w = graph.shape(node.inputs[1]);
  return checked_mul(x.numel() / w[1], checked_mul(w[0], dtype_bytes(graph.dtype(node.inputs[0]))));
}

}  // namespace

void note_loss_at_peak(const Graph& graph, const Plan& plan, PassContext& context) {
  if (plan.steps.empty()) return;
  const PlanStep& step = plan.steps[static_cast<size_t>(peak_use(plan).step)];
  const std::optional<int64_t> logits = logits_bytes(graph, graph.node(step.node));
  if (logits && step.scratch_bytes > *logits)
    context.note(fmt::format(
        "linear cross-entropy holds the peak: its scratch takes {} bytes where the logits of so few rows take "
        "{}; --fuse-loss off may plan less",
        step.scratch_bytes, *logits));
}

}  // namespace stepc
