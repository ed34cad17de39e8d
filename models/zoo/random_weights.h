#pragma once

#include "ir/tensor.h"

#include <cstdint>
#include <string_view>

namespace stepc {

// The initial value of a weight, a function of its name, type and the seed alone, whatever else the model holds:
// matrices normal with standard deviation 0.02 (GPT-2, Radford et al. 2019, section 2.3), norm scales 1, biases 0.
Tensor random_weight(std::string_view name, const Type& type, uint64_t seed);

}  // namespace stepc
