#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace stepc::cuda {

// A GPU architecture by its compute capability.
struct Architecture {
  int major = 0;
  int minor = 0;

  int number() const { return 10 * major + minor; }
  std::string name() const;  // "sm_90"
  bool operator==(const Architecture&) const = default;
};

// Those that kernels are compiled for.
constexpr std::array<Architecture, 6> kArchitectures{{{8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}}};

// "sm_80, sm_86, ...": what error messages offer.
std::string architecture_names();

// Of a name such as "sm_90". Throws UserError for one that is not among them.
Architecture parse_architecture(std::string_view name);

// Whose code a device of this capability runs: the same major, the greatest minor that is not above the device's.
std::optional<Architecture> architecture_for(Architecture device);

}  // namespace stepc::cuda
