#pragma once

#include "ir/kernel.h"

#include <string>
#include <vector>

namespace stepc {

// How one reduction is written down.
struct ReductionText {
  std::string type;       // of the elements combined: int32_t for narrower integers
  std::string operator_;  // SumOf<float>; empty for arg reductions
  std::string row;        // RowReduction<float, SumOf<float>> or ArgReduction<float, true, false>
  std::string identity;   // the result over no elements
  bool is_arg = false;
};

ReductionText reduction_text(const Reduction& reduction);

}  // namespace stepc
