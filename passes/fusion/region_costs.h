#pragma once

#include "ir/cost/roofline.h"
#include "ir/kernel.h"
#include "ir/layout.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace stepc {

// What regions of a graph cost as kernels. Regions of one structure, as repeated layers have them, are described once.
class RegionCosts {
 public:
  struct Cost {
    std::optional<double> us;  // predicted; nothing where no kernel can be emitted
    std::string why_none;      // why none can
    std::string why_slow;      // why it is not worth having all the same, empty where it is
  };

  RegionCosts(const Graph& graph, const Layouts& layouts, const DeviceSpec& device)
      : graph_(graph), layouts_(layouts), device_(device) {}

  // Of a region with results.
  const Cost& of(const Region& region);

 private:
  Cost describe(const Region& region) const;
  // Equal for regions that differ in nothing but which nodes and values of the graph they are.
  std::string structure(const Region& region) const;

  const Graph& graph_;
  const Layouts& layouts_;
  const DeviceSpec& device_;
  std::unordered_map<std::string, Cost> known_;  // by structure
};

}  // namespace stepc
