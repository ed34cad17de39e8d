#include "passes/remat/policy.h"

// selective: what lies between QKᵀ and the product with V is made again, where attention is not one kernel: its S and P
// grow with the square of the sequence and cost few FLOPs beside their bytes. Everything else is kept. Korthikanti et
// al. 2022, "Reducing Activation Recomputation in Large Transformer Models", section 5.
namespace stepc {
namespace {

using Maker = RematValue::Maker;

// From a product of two computed values up to the next product: on a path from one, and on a path to one.
RematDecision decide(const RematProblem& problem, std::string_view) {
  const auto count = static_cast<int32_t>(problem.values.size());
  const auto at = [&](int32_t i) -> const RematValue& { return problem.values[static_cast<size_t>(i)]; };
  const auto is_product = [&](int32_t i) { return at(i).maker == Maker::product; };
  std::vector<bool> from(problem.values.size()), to(problem.values.size());
  for (int32_t i = 0; i < count; ++i)
    for (const int32_t operand : at(i).operands)
      if (is_product(operand) || (at(operand).maker == Maker::cheap && from[static_cast<size_t>(operand)]))
        from[static_cast<size_t>(i)] = true;
  for (int32_t i = count - 1; i >= 0; --i)
    for (const int32_t operand : at(i).operands)
      if (is_product(i) || (at(i).maker == Maker::cheap && to[static_cast<size_t>(i)]))
        to[static_cast<size_t>(operand)] = true;
  RematDecision kept(problem.values.size(), true);
  for (int32_t i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(i);
    const bool scores = is_product(i) && to[k] && !from[k];
    const bool between = at(i).maker == Maker::cheap && from[k] && to[k];
    kept[k] = !scores && !between;
  }
  return kept;
}

}  // namespace

extern const RematPolicy remat_selective;
const RematPolicy remat_selective{
    .name = "selective",
    .usage = "selective",
    .summary = "recomputes scores and probabilities of attention where it is not one kernel",
    .decide = decide,
};

}  // namespace stepc
