#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepc {

// Which part of the training step a node belongs to, in execution order. Part of a node's identity for CSE: merging a
// recompute node with its forward original would undo the recomputation.
enum class Phase : uint8_t { forward, loss, backward, recompute, optimizer };

std::string_view phase_name(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

}  // namespace stepc
