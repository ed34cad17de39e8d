#include "ir/phase.h"

#include <array>

namespace stepc {
namespace {
constexpr std::array<std::string_view, 5> kNames{"forward", "loss", "backward", "recompute", "optimizer"};
}  // namespace

std::string_view phase_name(Phase phase) { return kNames[static_cast<size_t>(phase)]; }

std::optional<Phase> phase_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Phase>(i);
  return std::nullopt;
}

}  // namespace stepc
