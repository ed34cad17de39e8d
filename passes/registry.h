#pragma once

#include "passes/pass.h"

#include <span>
#include <string_view>
#include <vector>

namespace stepc {

// Every pass, sorted by name.
std::span<const Pass* const> all_passes();
// By its name with hyphens. Throws UserError that lists the passes.
const Pass& find_pass(std::string_view name);
// "dce,cse,dce"; empty text is the empty pipeline. Throws UserError for an unknown name.
std::vector<const Pass*> parse_pipeline(std::string_view text);

}  // namespace stepc
