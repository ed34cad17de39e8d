#include "passes/analysis/attention_flops.h"

#include "ir/attention.h"
#include "ir/support/checked.h"
#include "passes/autodiff.h"
#include "passes/raise/attention_mask.h"

#include <map>
#include <tuple>

namespace stepc {
namespace {

// The summed depths of the contractions: 2 · pairs · depths are the FLOPs. Forward: scores and result. Backward:
// dv = Pᵀ·do, dP = do·vᵀ, dq = ds·k, dk = dsᵀ·q, those that are needed.
int64_t depths(const Attention& attention, const std::vector<bool>& needed) {
  const int64_t d = attention.depth, dv = attention.value_depth;
  const bool q = needed[0], k = needed[1], v = needed[2], mask = needed.size() > 3 && needed[3];
  return (d + dv) + (v ? dv : 0) + (q || k || mask ? dv : 0) + (q ? d : 0) + (k ? d : 0);
}

}  // namespace

std::optional<AttentionFlops> attention_flops(const Graph& graph, const TrainOptions& options) {
  const std::vector<bool> differentiated = differentiated_values(graph, options);
  // Layers share their masks.
  std::map<std::tuple<ValueId, int64_t, std::optional<int64_t>>, std::optional<int64_t>> pairs_of_mask;
  std::optional<AttentionFlops> total;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op != Op::attention) continue;
    const Attention attention = bind_attention(node.attrs, graph.shape(node.inputs[0]), graph.shape(node.inputs[1]),
                                               graph.shape(node.inputs[2]));
    std::vector<bool> needed;
    for (const ValueId input : node.inputs)
      needed.push_back(input.valid() && differentiated[static_cast<size_t>(input.index)]);
    const int64_t per_pair = 2 * depths(attention, needed);
    if (!total) total = AttentionFlops{0, 0};
    total->all_pairs = checked_add(total->all_pairs, checked_mul(attention.scores_shape().numel(), per_pair));
    const ValueId mask = node.inputs.size() > 3 ? node.inputs[3] : kNoValue;
    const auto [known, is_new] =
        pairs_of_mask.try_emplace({mask, attention.pairs(), attention.least_distance}, std::nullopt);
    if (is_new) known->second = unmasked_pairs(graph, attention, mask);
    const std::optional<int64_t>& pairs = known->second;
    if (total->unmasked && pairs)
      total->unmasked = checked_add(*total->unmasked, checked_mul(*pairs, per_pair));
    else
      total->unmasked.reset();
  }
  return total;
}

}  // namespace stepc
