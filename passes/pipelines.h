#pragma once

#include "passes/pass.h"

#include <vector>

namespace stepc {

// The passes from an imported graph to a planned training step, in order.
std::vector<const Pass*> default_pipeline();
// Before the differentiation of eager accounting: frameworks' own ops recovered, nothing else.
std::vector<const Pass*> eager_pipeline();

}  // namespace stepc
