#include "tools/driver/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepc {

Difference compare(std::string what, const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  Difference difference{std::move(what), 0, tolerance.absolute};
  if (actual.type().shape != expected.type().shape) {
    difference.what += fmt::format(" ({}, expected {})", to_string(actual.type()), to_string(expected.type()));
    difference.largest = std::numeric_limits<double>::infinity();
    return difference;
  }
  double largest_expected = 0;
  for (int64_t i = 0; i < expected.type().shape.numel(); ++i) {
    const double a = element(actual.view(), i);
    const double e = element(expected.view(), i);
    if (std::isfinite(e)) largest_expected = std::max(largest_expected, std::abs(e));
    if (std::isnan(a) != std::isnan(e)) difference.largest = std::numeric_limits<double>::infinity();
    if (std::isnan(a) || std::isnan(e) || a == e) continue;
    difference.largest = std::max(difference.largest, std::abs(a - e));
  }
  difference.allowed += tolerance.relative * largest_expected;
  return difference;
}

Difference compare_bitwise(std::string what, const Tensor& actual, const Tensor& expected) {
  return {std::move(what), actual == expected ? 0 : std::numeric_limits<double>::infinity(), 0};
}

std::string describe(const std::vector<Difference>& differences, bool all) {
  std::string out;
  size_t failed = 0;
  for (const Difference& d : differences) {
    failed += d.ok() ? 0 : 1;
    if (all || !d.ok())
      out += fmt::format("{:<6} {:<60} largest difference {:.3g}, allowed {:.3g}\n", d.ok() ? "ok" : "differs", d.what,
                         d.largest, d.allowed);
  }
  return out + fmt::format("{} compared, {} differ\n", differences.size(), failed);
}

}  // namespace stepc
