#pragma once

#include "passes/fusion/partition.h"
#include "passes/fusion/region_costs.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace stepc {

// What the kernels of a partition's clusters cost, as they are and as they might become.
class ClusterCosts {
 public:
  struct Cost {
    std::optional<double> us;  // predicted; nothing where there is no kernel
    std::string why_none;
  };
  // Whether a kernel that is to be must be worth having, or is wanted anyhow.
  enum class Want : uint8_t { profit, forced };

  ClusterCosts(const Graph& graph, const Partition& partition, const DeviceSpec& device)
      : partition_(partition), region_costs_(graph, partition.layouts(), device) {}

  // As it is, worth having or not: what it is joined to may make it so.
  const Cost& of(int32_t cluster);
  // None where nobody reads its results.
  Cost of(const Region& region, Want want);

  void set(int32_t cluster, double us) { known_[cluster] = {us, {}}; }
  void forget(int32_t cluster) { known_.erase(cluster); }

 private:
  const Partition& partition_;
  RegionCosts region_costs_;
  std::map<int32_t, Cost> known_;
};

}  // namespace stepc
