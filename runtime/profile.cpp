#include "runtime/profile.h"

#include <algorithm>

namespace stepc {

double LaunchProfile::min_us() const {
  return samples_us.empty() ? 0 : static_cast<double>(*std::min_element(samples_us.begin(), samples_us.end()));
}

double LaunchProfile::median_us() const {
  if (samples_us.empty()) return 0;
  std::vector<float> sorted = samples_us;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return static_cast<double>(*middle);
}

}  // namespace stepc
