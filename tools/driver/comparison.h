#pragma once

#include "ir/tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepc {

// How far two tensors may differ: |d| <= absolute + relative * max|expected|.
struct Tolerance {
  double absolute = 1e-5;
  double relative = 1e-4;
};

struct Difference {
  std::string what;
  double largest = 0;  // |d|; infinite where shapes differ or one is NaN
  double allowed = 0;
  bool ok() const { return largest <= allowed; }
};

Difference compare(std::string what, const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);
Difference compare_bitwise(std::string what, const Tensor& actual, const Tensor& expected);

// What a check found, for the terminal: the failures, or with `all` every line, and a summary.
std::string describe(const std::vector<Difference>& differences, bool all);

}  // namespace stepc
