#pragma once

#include "codegen/dialect.h"
#include "codegen/text.h"
#include "ir/kernel.h"

#include <cstdint>
#include <string>

// Scans, top-k and scatters: what targets share. They differ in who takes which sequence.
namespace stepc {

int64_t product(const Dims& dims);

// Σ coordinate·stride where the coordinates are those of the linear index `index` over `dims`.
std::string offset_text(const std::string& index, const Dims& dims, const Dims& strides);

// The statements for sequence `o` of a scan, and of a top-k.
void print_scan_sequence(Text& text, const Kernel& kernel, const Dialect& dialect);
void print_top_k_sequence(Text& text, const Kernel& kernel, const Dialect& dialect);

// The dims of a scatter that are sequential, or those that are not, with each kind of strides.
struct ScatterDims {
  ScatterDims(const ScatterWork& work, bool sequential);
  Dims extents, index, update, out;
};

// Where an update goes whose indices begin at `index`, without its own offset.
std::string scatter_target_text(const ScatterWork& work, const Dialect& dialect);

// The statement by which the update at `update` meets the element at `at`.
std::string scatter_update_text(const Kernel& kernel, const std::string& at, const std::string& update,
                                const Dialect& dialect);

}  // namespace stepc
