#pragma once

#include "codegen/cuda/kernel_text.h"

#include <cstdint>
#include <vector>

namespace stepc::cuda {

// The stages of linear cross-entropy: the same few functions for every chunk of rows, one after the other.
std::vector<StageText> print_linear_cross_entropy(const Kernel& kernel);

// What they need of scratch, instead of Kernel::scratch_bytes: chunks are larger than on a CPU.
int64_t linear_cross_entropy_scratch_bytes(const Kernel& kernel);

}  // namespace stepc::cuda
