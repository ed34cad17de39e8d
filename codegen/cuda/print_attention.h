#pragma once

#include "codegen/cuda/kernel_text.h"

#include <vector>

namespace stepc::cuda {

// The stages of attention: one; of attention_backward: delta, dq, dk and dv, and the gradient of the mask where it is
// wanted. Backward needs Kernel::scratch_bytes of scratch. None where there is nothing to compute.
std::vector<StageText> print_attention(const Kernel& kernel);

}  // namespace stepc::cuda
