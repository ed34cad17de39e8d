#pragma once

#include "ir/graph.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace stepc {

// What people call a launch: "k12_rms_norm_fwd_blocks_3_attn_norm", from its number in the plan, the operation names of
// its kernel, its phase and its scope. Of [a-z0-9_] alone, whatever the model calls its parts. Compiled symbols have
// the operation names and no scope, since layers share them (docs/decisions/0003).
std::string launch_name(size_t number, std::string_view label, const Origin& origin);

// The same for corresponding launches of all layers, after the number of the first: the scope's parts that are numbers
// are left out, "k12_rms_norm_fwd_blocks_attn_norm".
std::string layer_launch_name(size_t number, std::string_view label, const Origin& origin);

}  // namespace stepc
