#pragma once

#include "codegen/cuda/kernel_text.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stepc::cuda {

// The stages of a kernel, by kind; none where it has nothing to do. Equal kernels give equal text; buffers are bound by
// position. `alignments`: per buffer, the bytes that its base address is known to be a multiple of.
std::vector<StageText> print_map(const Kernel& kernel, std::span<const int64_t> alignments);
std::vector<StageText> print_transposed(const Kernel& kernel);  // a map with KernelSchedule::tile_dim
std::vector<StageText> print_row_reduction(const Kernel& kernel, std::span<const int64_t> alignments);
std::vector<StageText> print_column_reduction(const Kernel& kernel);
std::vector<StageText> print_inner_outer(const Kernel& kernel, std::span<const int64_t> alignments);
std::vector<StageText> print_scan(const Kernel& kernel);
std::vector<StageText> print_top_k(const Kernel& kernel);
std::vector<StageText> print_scatter(const Kernel& kernel);
std::vector<StageText> print_parts(const Kernel& kernel, std::span<const int64_t> alignments);
std::vector<StageText> print_stages(const Kernel& kernel, std::span<const int64_t> alignments);

// "const float* b0, float* b1, ..." of a kernel's buffers.
std::string buffer_parameters(const Kernel& kernel);

// Blocks for `count` threads' work in a loop over the grid: enough to fill any GPU, few enough that each does
// something.
int64_t blocks_for(int64_t count, int32_t threads);

}  // namespace stepc::cuda
