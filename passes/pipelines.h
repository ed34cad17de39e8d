#pragma once

#include "passes/pass.h"

#include <vector>

namespace stepc {

// The passes from an imported graph to a planned training step, in order.
std::vector<const Pass*> default_pipeline();
// The passes up to and including autodiff after raise-aten alone: what eager accounting differentiates.
std::vector<const Pass*> eager_pipeline();

}  // namespace stepc
