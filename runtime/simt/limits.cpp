#include "runtime/simt/limits.h"

#include "ir/support/error.h"

namespace stepc::simt {
namespace {

// Those of data centres have more.
int64_t shared_kib(int number) {
  switch (number) {
    case 80: return 163;
    case 86:
    case 89:
    case 120: return 99;
    case 90:
    case 100: return 227;
    default: CHECK(false, "no limits for sm_{}", number); return 0;
  }
}

}  // namespace

LaunchLimits limits_of(cuda::Architecture architecture) {
  LaunchLimits limits;
  limits.shared_bytes = shared_kib(architecture.number()) * 1024;
  return limits;
}

std::string exceeded_limit(cuda::Architecture architecture, int64_t grid, int64_t threads, int64_t shared_bytes) {
  const LaunchLimits limits = limits_of(architecture);
  const auto beyond = [&](std::string_view what, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return std::string();
    return fmt::format("a launch with {} {}; {} allows {} to {}", value, what, architecture.name(), low, high);
  };
  std::string text = beyond("blocks", grid, 1, limits.grid);
  if (text.empty()) text = beyond("threads per block", threads, 1, limits.threads);
  if (text.empty()) text = beyond("bytes of shared memory per block", shared_bytes, 0, limits.shared_bytes);
  return text;
}

}  // namespace stepc::simt
