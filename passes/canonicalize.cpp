// canonicalize: one form for what can be written in many, by rewrites that keep every bit (canonicalize/rules.h).
//
//   %1 = transpose %k {perm=[0, 2, 1]}                    %2 = contraction %q, %k {spec="bik,bjk->bij"}
//   %2 = contraction %q, %1 {spec="bik,bkj->bij"}   ->    %3 = mul %2, (0.125)
//   %3 = div %2, expand(8)
//
// Each sweep visits every node once, operands before readers; sweeps repeat until nothing changes (three in practice: a
// transpose absorbed into a contraction's result may free another).

#include "ir/op_def.h"
#include "passes/canonicalize/rules.h"
#include "passes/pass.h"

#include <algorithm>
#include <array>

namespace stepc {
namespace {

struct RulesOfOp {
  Op op;
  std::array<CanonicalRule, 4> rules;  // in the order in which they are tried; null where there are fewer
};

constexpr RulesOfOp kRules[] = {
    {Op::reshape, {drop_identity, merge_views}},
    {Op::transpose, {drop_identity, merge_views, reshape_for_transpose, absorb_result_transpose}},
    {Op::expand, {drop_identity, merge_views}},
    {Op::slice, {drop_identity, merge_views}},
    {Op::cast, {drop_identity, merge_casts}},
    {Op::concat, {drop_identity}},
    {Op::pad, {drop_identity}},
    {Op::reduce_sum, {drop_identity, reshape_for_reduction}},
    {Op::reduce_max, {drop_identity, reshape_for_reduction}},
    {Op::reduce_min, {drop_identity, reshape_for_reduction}},
    {Op::reduce_prod, {drop_identity, reshape_for_reduction}},
    {Op::add, {constant_to_right, drop_neutral}},
    {Op::mul, {constant_to_right, drop_neutral}},
    {Op::logical_and, {constant_to_right, drop_neutral}},
    {Op::logical_or, {constant_to_right, drop_neutral}},
    {Op::equal, {constant_to_right}},
    {Op::sub, {drop_neutral}},
    {Op::div, {drop_neutral, multiply_for_division}},
    {Op::pow, {drop_neutral, multiply_for_square}},
    {Op::neg, {drop_involution}},
    {Op::logical_not, {drop_involution}},
    {Op::select, {choose_constant_select}},
    {Op::contraction, {absorb_operand_transpose}},
};

bool rewrite(Graph& graph, NodeId id) {
  const Op op = graph.node(id).op;
  if (op_def(op).kind == OpKind::pointwise && drop_expansion(graph, id)) return true;
  const auto entry = std::ranges::find(kRules, op, &RulesOfOp::op);
  if (entry == std::end(kRules)) return false;
  return std::ranges::any_of(entry->rules, [&](CanonicalRule rule) { return rule != nullptr && rule(graph, id); });
}

bool sweep(Graph& graph) {
  bool changed = false;
  for (const NodeId id : graph.order())
    while (graph.alive(id) && rewrite(graph, id)) changed = true;
  return changed;
}

bool run(Graph& graph, PassContext&) {
  bool changed = false;
  while (sweep(graph)) changed = true;
  return changed;
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_canonicalize;
const Pass pass_canonicalize{
    .name = "canonicalize",
    .summary = "collapses views, casts and neutral operations, moves transposes into contractions; keeps every bit",
    .contract = {.breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
