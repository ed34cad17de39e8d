#pragma once

#include "passes/remat/options.h"
#include "passes/remat/problem.h"

#include <span>
#include <string_view>
#include <vector>

namespace stepc {

// Which values are kept. What the backward needs of the others is computed again from what is kept, from inputs and
// from weights; a value that nothing needs may be called kept and costs nothing.
using RematDecision = std::vector<bool>;

// One policy, one file: passes/remat/policies/<name>.cpp and a line in policies.def.
struct RematPolicy {
  std::string_view name;
  std::string_view usage;    // "block[:E]"
  std::string_view summary;  // one line, with its source
  // Throws UserError where the argument is none of the policy's, or the problem has no layers and the policy needs
  // them.
  RematDecision (*decide)(const RematProblem& problem, std::string_view argument) = nullptr;
};

std::span<const RematPolicy* const> all_remat_policies();
// Nothing for "none".
const RematPolicy* find_remat_policy(const RematOptions& options);

// Everything outside of layers, and what other segments read of a segment of `layers_per_segment` layers: Chen et al.
// 2016. Throws UserError where the model shows no layers.
RematDecision keep_segment_entries(const RematProblem& problem, int64_t layers_per_segment, std::string_view policy);

}  // namespace stepc
