#pragma once

#include "codegen/cuda/kernel_text.h"
#include "ir/kernel.h"

#include <vector>

namespace stepc::cuda {

// A contraction that no library carries: one stage, whose text holds the sizes, the strides and the tile that
// schedule_product chose. Any dtypes and strides; buffers are those of MatmulWork.
std::vector<StageText> print_contraction(const Kernel& kernel);

// A convolution likewise, as a product of tiles over operands gathered on the way (device/convolution.cuh). f32.
std::vector<StageText> print_convolution(const Kernel& kernel);

}  // namespace stepc::cuda
