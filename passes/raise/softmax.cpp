#include "ir/builder.h"
#include "passes/raise/match.h"
#include "passes/raise/rules.h"
#include "passes/rewrite.h"

namespace stepc {

// e / Σe with e = exp(x − max x), both along one axis
bool raise_softmax(Graph& graph, NodeId id) {
  const Node& quotient = graph.node(id);
  const Node* exp = made_by(graph, quotient.inputs[0], Op::exp);
  const Node* sum = part(graph, quotient.inputs[1], Op::reduce_sum);
  if (exp == nullptr || sum == nullptr || sum->inputs[0] != quotient.inputs[0]) return false;
  const Node* shifted = part(graph, exp->inputs[0], Op::sub);
  const Node* max = shifted != nullptr ? part(graph, shifted->inputs[1], Op::reduce_max) : nullptr;
  if (max == nullptr || max->inputs[0] != shifted->inputs[0]) return false;
  if (!read_only_by(graph, quotient.inputs[0], {id, graph.value(quotient.inputs[1]).producer})) return false;
  const std::vector<int64_t>& axes = sum->attrs.integers("axes");
  if (axes.size() != 1 || axes != max->attrs.integers("axes")) return false;
  if (!sum->attrs.flag("keepdims") || !max->attrs.flag("keepdims")) return false;
  const ValueId x = max->inputs[0];
  Builder b(graph, covered_origin(graph, id, {x}), id);
  replace_node(graph, id, b.make(Op::softmax, {x}, {{"axis", axes[0]}}));
  return true;
}

// isnan(p) ? 0 : p with p = softmax(x): what exporters write for attention that a whole row may be masked in. NaNs in x
// itself, which the pattern would hide, come out as NaN.
bool raise_safe_softmax(Graph& graph, NodeId id) {
  const Node& choice = graph.node(id);
  const Node* is_nan = part(graph, choice.inputs[0], Op::is_nan);
  const ValueId p = choice.inputs[2];
  const Node* softmax = made_by(graph, p, Op::softmax);
  if (is_nan == nullptr || softmax == nullptr || is_nan->inputs[0] != p || !is_number(graph, choice.inputs[1], 0))
    return false;
  if (!read_only_by(graph, p, {id, graph.value(choice.inputs[0]).producer})) return false;
  if (graph.shape(choice.outputs[0]) != graph.shape(p)) return false;
  Builder b(graph, covered_origin(graph, id, {softmax->inputs[0]}), id);
  replace_node(
      graph, id,
      b.make(Op::softmax, {softmax->inputs[0]}, {{"axis", softmax->attrs.integer("axis")}, {"zero_dead_rows", true}}));
  return true;
}

}  // namespace stepc
