#pragma once

#include "ir/phase.h"

namespace stepc {

// Kernels never join parts of the step: what is saved, and what a micro-step is, would blur.
enum class StepPart : uint8_t { forward, backward, update };

constexpr StepPart part_of_step(Phase phase) {
  switch (phase) {
    case Phase::forward:
    case Phase::loss: return StepPart::forward;
    case Phase::backward:
    case Phase::recompute: return StepPart::backward;
    case Phase::optimizer: return StepPart::update;
  }
  return StepPart::forward;
}

}  // namespace stepc
