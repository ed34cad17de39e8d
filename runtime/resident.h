#pragma once

#include <cstdint>
#include <optional>

namespace stepc {

// Memory that the process takes beyond what it held when this was made, libraries' own included: the growth of its
// largest resident set. Memory given back and taken again in between does not count twice.
class ResidentGrowth {
 public:
  ResidentGrowth();
  // Empty where the system does not tell (it needs /proc/self/clear_refs and VmHWM of Linux).
  std::optional<int64_t> bytes() const;

 private:
  std::optional<int64_t> before_;
};

}  // namespace stepc
