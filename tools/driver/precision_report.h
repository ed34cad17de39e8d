#pragma once

#include "tools/driver/step.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace stepc {

// What a planned step stores and computes in which type.
struct PrecisionReport {
  struct Stored {
    MemoryClass memory_class{};
    Dtype dtype{};
    int64_t tensors = 0, bytes = 0;  // blocks, each with its own bytes, whenever they are alive
  };
  struct Computed {
    std::string what;      // "contraction", "attention", ...: what takes products
    std::string operands;  // the type of what is multiplied; "tf32" where f32 may be rounded to that
    Dtype sums{};          // what products are added in
    int64_t nodes = 0, flops = 0;
  };
  std::vector<Stored> stored;      // by class, then dtype
  std::vector<Computed> computed;  // by operation, then dtype
};

// `step` has a plan.
PrecisionReport precision_report(const Step& step);

nlohmann::ordered_json precision_json(const PrecisionReport& report, Precision precision);
// One line per class and one for products.
std::string precision_text(const PrecisionReport& report, Precision precision);

}  // namespace stepc
