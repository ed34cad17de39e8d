// remat: recomputes in the backward what the policy of --remat does not keep.
//
//   %p = softmax %s               (read by the backward)     %p = softmax %s
//   ...                                                 ->   ...
//   %dv = contraction %p, %do                                %p1 = softmax %s      (phase recompute)
//                                                            %dv = contraction %p1, %do
//
// A policy (remat/policies/) decides on the blocks that the forward makes, the problem (remat/problem.h); the mechanism
// (remat/recompute.h) copies what makes the others. It runs before fusion, which puts cheap copies into their readers.

#include "passes/pass.h"
#include "passes/remat/recompute.h"

#include <fmt/format.h>

namespace stepc {
namespace {

bool run(Graph& graph, PassContext& context) {
  const RematPolicy* policy = find_remat_policy(context.options.remat);
  if (policy == nullptr) return false;
  const RematProblem problem = remat_problem(graph, context.device);
  const Recomputed made = recompute(graph, problem, policy->decide(problem, context.options.remat.argument));
  if (made.nodes == 0) return false;
  context.note(fmt::format("{} blocks of {} bytes are recomputed by {} nodes of {} FLOPs", made.values, made.bytes,
                           made.nodes, made.flops));
  return true;
}

constexpr Fact kRefuses[] = {Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_remat;
const Pass pass_remat{
    .name = "remat",
    .summary = "recomputes in the backward what the policy of --remat does not keep",
    .contract = {.refuses = kRefuses, .breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
