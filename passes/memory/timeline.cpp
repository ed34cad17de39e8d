#include "passes/memory/timeline.h"

#include "passes/memory/arena.h"

#include <algorithm>

namespace stepc {
namespace {

int64_t& bytes_of(MemoryUse& use, MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::weight: return use.weights;
    case MemoryClass::gradient: return use.gradients;
    case MemoryClass::optimizer: return use.optimizer;
    case MemoryClass::activation: return use.activations;
    case MemoryClass::temporary: break;
  }
  return use.temporaries;
}

void add(MemoryUse& to, const MemoryUse& what) {
  to.weights += what.weights;
  to.gradients += what.gradients;
  to.optimizer += what.optimizer;
  to.activations += what.activations;
  to.temporaries += what.temporaries;
}

}  // namespace

std::vector<MemoryUse> memory_timeline(const Plan& plan) {
  const size_t steps = std::max<size_t>(plan.steps.size(), 1);
  std::vector<MemoryUse> timeline(steps + 1);  // first as changes from step to step
  for (const PlannedBlock& block : plan.blocks) {
    const auto first = static_cast<size_t>(block.persistent ? 0 : block.first);
    const auto last = block.persistent ? steps - 1 : static_cast<size_t>(block.last);
    bytes_of(timeline[first], block.memory_class) += aligned_bytes(block.bytes);
    bytes_of(timeline[last + 1], block.memory_class) -= aligned_bytes(block.bytes);
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    timeline[i].temporaries += aligned_bytes(plan.steps[i].scratch_bytes);
    timeline[i + 1].temporaries -= aligned_bytes(plan.steps[i].scratch_bytes);
  }
  for (size_t i = 1; i < timeline.size(); ++i) add(timeline[i], timeline[i - 1]);
  timeline.pop_back();
  return timeline;
}

PeakUse peak_use(const Plan& plan) {
  const std::vector<MemoryUse> timeline = memory_timeline(plan);
  const auto most = std::ranges::max_element(timeline, {}, &MemoryUse::total);
  return {static_cast<int32_t>(most - timeline.begin()), *most, plan.peak_bytes() - most->total()};
}

}  // namespace stepc
