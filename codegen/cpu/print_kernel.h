#pragma once

#include "codegen/text.h"
#include "ir/kernel.h"

#include <string>

namespace stepc::cpu {

// The type of the elements in memory that tiles are filled from (device/tile.h).
std::string_view tile_element(Dtype dtype);

// The body of `void name(const StepcKernelArgs* args)`, by kind. Equal kernels give equal text; buffers are bound by
// position.
void print_map(Text& text, const Kernel& kernel);
void print_row_reduction(Text& text, const Kernel& kernel);
void print_column_reduction(Text& text, const Kernel& kernel);
void print_inner_outer(Text& text, const Kernel& kernel);
void print_scan(Text& text, const Kernel& kernel);
void print_top_k(Text& text, const Kernel& kernel);
void print_scatter(Text& text, const Kernel& kernel);
void print_attention(Text& text, const Kernel& kernel);
void print_linear_cross_entropy(Text& text, const Kernel& kernel);
void print_contraction(Text& text, const Kernel& kernel);
void print_parts(Text& text, const Kernel& kernel);
void print_body(Text& text, const Kernel& kernel);

// `b0`, `b1`, ... for a kernel's buffers.
void declare_buffers(Text& text, const Kernel& kernel);

// Iterations that one task should at least have, when one costs about `elements` element operations.
int64_t grain_of(int64_t elements);

}  // namespace stepc::cpu
