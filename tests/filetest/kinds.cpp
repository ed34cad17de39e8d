#include "tests/filetest/filetest.h"

#include <array>

namespace stepc::filetest {

std::span<const Kind> kinds() {
  static constexpr auto kKinds = std::to_array<Kind>({
      {"error", run_error},
      {"passes", run_passes_on_text},
      {"roundtrip", run_roundtrip},
      {"saved", run_saved},
  });
  return kKinds;
}

}  // namespace stepc::filetest
