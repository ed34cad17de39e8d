#include "passes/fusion/cluster_costs.h"

namespace stepc {

const ClusterCosts::Cost& ClusterCosts::of(int32_t cluster) {
  const auto [known, added] = known_.try_emplace(cluster);
  if (added) {
    const Region region = partition_.region({cluster});
    known->second = region.results.empty() ? Cost{std::nullopt, "nobody reads it"} : of(region, Want::forced);
  }
  return known->second;
}

ClusterCosts::Cost ClusterCosts::of(const Region& region, Want want) {
  const RegionCosts::Cost& cost = region_costs_.of(region);
  if (!cost.us) return {std::nullopt, cost.why_none};
  if (want == Want::profit && !cost.why_slow.empty()) return {std::nullopt, cost.why_slow};
  return {cost.us, {}};
}

}  // namespace stepc
