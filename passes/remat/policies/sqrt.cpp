#include "ir/support/error.h"
#include "passes/remat/policy.h"

#include <algorithm>
#include <cmath>

// sqrt: block with segments of about √L of the L layers, so that entries and the segment in hand grow alike: O(√L)
// memory for one more forward. Chen et al. 2016, section 4.1.
namespace stepc {
namespace {

RematDecision decide(const RematProblem& problem, std::string_view) {
  const double layers = std::round(std::sqrt(static_cast<double>(problem.layers)));
  return keep_segment_entries(problem, std::max<int64_t>(static_cast<int64_t>(layers), 1), "sqrt");
}

}  // namespace

extern const RematPolicy remat_sqrt;
const RematPolicy remat_sqrt{
    .name = "sqrt",
    .usage = "sqrt",
    .summary = "block with segments of the square root of the number of layers",
    .decide = decide,
};

}  // namespace stepc
