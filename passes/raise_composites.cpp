// raise-composites: puts one operation in the place of what exporters write in many, where both are certainly equal:
// softmax, norms, GELU, SiLU, rotary embedding, attention, cross-entropy (raise/rules.h; each rule shows its pattern).
// Composites have better derivatives than their parts, and kernels of their own.
//
//   %c = sub %x, mean(%x)
//   %n = div %c, sqrt(mean(%c * %c) + e)          %y = layer_norm %x, %scale, %bias {axis=2, epsilon=e}
//   %y = %n * %scale + %bias                 ->
//
// Operands are visited before their readers, so that attention finds softmax, and scale and bias find the norm. Linear
// in the nodes, as every pattern is bounded.

#include "ir/origin_name.h"
#include "passes/pass.h"
#include "passes/raise/rules.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace stepc {
namespace {

constexpr RulesOfOp kRules[] = {
    {Op::reciprocal, {raise_rsqrt}},
    {Op::div, {raise_softmax, raise_layer_norm, raise_rms_norm, raise_gelu, raise_rsqrt}},
    {Op::mul, {raise_silu, raise_gelu, raise_layer_norm, raise_rms_norm, absorb_norm_scale}},
    {Op::add, {absorb_norm_bias, raise_rotary}},
    {Op::select, {raise_safe_softmax}},
    {Op::contraction, {raise_attention}},
    {Op::gather_elements, {raise_cross_entropy}},
};

void note_attention_in_parts(const Graph& graph, PassContext& context) {
  std::vector<std::string> names;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id))
    if (may_lack_keys(graph, id)) names.push_back(node_name(graph, graph.node(id)));
  if (names.empty()) return;
  const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : std::string();
  context.note(
      fmt::format("{}{} and the softmax before stay apart: nothing promises each query a key, and without one "
                  "softmax gives NaN, attention 0",
                  names[0], more));
}

bool run(Graph& graph, PassContext& context) {
  const bool changed = raise_all(graph, kRules);
  note_attention_in_parts(graph, context);
  return changed;
}

constexpr Fact kRefuses[] = {Fact::has_backward};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_raise_composites;
const Pass pass_raise_composites{
    .name = "raise-composites",
    .summary = "builds softmax, norms, GELU, rotary, attention and cross-entropy from their parts",
    .contract = {.refuses = kRefuses, .breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-4},
    .run = run,
};

}  // namespace stepc
