#pragma once

#include "ir/graph.h"
#include "ir/kernel.h"

#include <string>
#include <vector>

namespace stepc {

// What one launch of the step took, over the steps that were timed.
struct LaunchProfile {
  NodeId node;
  std::string name;  // of the launch or its symbol
  KernelKind kind{};
  KernelTraffic traffic;
  std::vector<float> samples_us;  // one per timed run
  double min_us() const;
  double median_us() const;
};

}  // namespace stepc
