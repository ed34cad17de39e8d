#include "passes/fusion/cluster_costs.h"

namespace stepc {

const ClusterCosts::Cost& ClusterCosts::of(int32_t cluster) {
  const auto [known, added] = known_.try_emplace(cluster);
  if (added) known->second = of(partition_.region({cluster}), Want::forced);
  return known->second;
}

ClusterCosts::Cost ClusterCosts::of(const Region& region, Want want) {
  if (region.results.empty()) return {std::nullopt, "nobody reads it"};  // its readers have come to recompute it
  const RegionCosts::Cost& cost = region_costs_.of(region);
  if (!cost.us) return {std::nullopt, cost.why_none};
  if (want == Want::profit && !cost.why_slow.empty()) return {std::nullopt, cost.why_slow};
  return {cost.us, {}};
}

}  // namespace stepc
