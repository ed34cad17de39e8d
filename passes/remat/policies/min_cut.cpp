#include "passes/remat/max_flow.h"
#include "passes/remat/policy.h"

// min-cut: keeps the fewest bytes from which the rest follows by memory-bound work alone, which a kernel of the
// backward does on the way: the minimum cut between what cannot be made so (products, moves) and what the backward
// needs. The partitioner of torch.compile (min_cut_rematerialization_partition), with bytes as capacities.
namespace stepc {
namespace {

RematDecision decide(const RematProblem& problem, std::string_view) {
  const auto count = static_cast<int32_t>(problem.values.size());
  const int32_t source = 2 * count, sink = source + 1;
  // Keeping a value cuts the edge from its first node, that it is made, to its second, that it is at hand.
  const auto made = [](int32_t value) { return 2 * value; };
  const auto at_hand = [](int32_t value) { return 2 * value + 1; };
  MaxFlow flow(sink + 1);
  for (int32_t i = 0; i < count; ++i) {
    const RematValue& value = problem.values[static_cast<size_t>(i)];
    flow.add_edge(made(i), at_hand(i), value.bytes);
    if (value.maker != RematValue::Maker::cheap) flow.add_edge(source, made(i), MaxFlow::kUnlimited);
    if (value.needed) flow.add_edge(at_hand(i), sink, MaxFlow::kUnlimited);
    for (const int32_t operand : value.operands) flow.add_edge(at_hand(operand), made(i), MaxFlow::kUnlimited);
  }
  const std::vector<bool> reached = flow.source_side(source, sink);
  RematDecision kept(problem.values.size());
  for (int32_t i = 0; i < count; ++i)
    kept[static_cast<size_t>(i)] = reached[static_cast<size_t>(made(i))] && !reached[static_cast<size_t>(at_hand(i))];
  return kept;
}

}  // namespace

extern const RematPolicy remat_min_cut;
const RematPolicy remat_min_cut{
    .name = "min-cut",
    .usage = "min-cut",
    .summary = "keeps the fewest bytes from which memory-bound work makes the rest",
    .decide = decide,
};

}  // namespace stepc
