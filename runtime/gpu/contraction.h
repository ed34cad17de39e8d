#pragma once

#include "ir/kernel.h"
#include "runtime/cuda/matmul_form.h"

#include <cstdint>

namespace stepc {

// Whether target cuda plans a kernel for cuBLASLt: a contraction of types and strides that it takes.
bool is_planned_for_library(const Kernel& kernel);

// The types of a contraction's buffers.
cuda::MatmulTypes matmul_types(const Kernel& kernel);

// What an algorithm may take besides the operands, in bytes: room for eight partial results in f32, as splitting the
// depth needs, and no more than the 32 MiB that NVIDIA advises for Hopper.
int64_t library_workspace_bytes(const MatmulWork& work);

constexpr int64_t kWorkspaceAlignment = 256;  // of its address, which cublasLtMatmul asks for

}  // namespace stepc
