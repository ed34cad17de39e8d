#include "runtime/cuda/architecture.h"

#include "ir/support/error.h"

namespace stepc::cuda {

std::string Architecture::name() const { return fmt::format("sm_{}", number()); }

std::string architecture_names() {
  std::string names;
  for (const Architecture& architecture : kArchitectures) names += (names.empty() ? "" : ", ") + architecture.name();
  return names;
}

Architecture parse_architecture(std::string_view name) {
  for (const Architecture& architecture : kArchitectures)
    if (architecture.name() == name) return architecture;
  user_error("'{}' is not an architecture that kernels are compiled for; these are {}", name, architecture_names());
}

std::optional<Architecture> architecture_for(Architecture device) {
  std::optional<Architecture> best;
  for (const Architecture& architecture : kArchitectures)
    if (architecture.major == device.major && architecture.minor <= device.minor) best = architecture;
  return best;
}

}  // namespace stepc::cuda
