#include "runtime/gpu/contraction.h"

#include "ir/support/checked.h"
#include "ir/support/error.h"

#include <algorithm>

namespace stepc {

cuda::MatmulTypes matmul_types(const Kernel& kernel) {
  return {.operands = kernel.buffers[0].dtype,
          .result = kernel.buffers.back().dtype,
          .tf32 = std::get<MatmulWork>(kernel.work).tf32};
}

bool is_planned_for_library(const Kernel& kernel) {
  if (kernel.kind != KernelKind::contraction) return false;
  const auto& work = std::get<MatmulWork>(kernel.work);
  const cuda::MatmulTypes types = matmul_types(kernel);
  if (kernel.buffers[1].dtype != types.operands) return false;
  for (size_t i = 0; i < work.addends.size(); ++i)
    if (kernel.buffers[2 + i].dtype != types.result) return false;
  return std::holds_alternative<cuda::MatmulForm>(cuda::matmul_form(work, types));
}

int64_t library_workspace_bytes(const MatmulWork& work) {
  constexpr int64_t kMost = int64_t{32} << 20;
  constexpr int64_t kPartialResults = 8;
  int64_t elements = checked_mul(work.m, work.n);
  for (const MatmulWork::Batch& axis : work.batch) elements = checked_mul(elements, axis.extent);
  if (elements > kMost / (kPartialResults * dtype_bytes(Dtype::f32))) return kMost;
  const int64_t bytes = kPartialResults * dtype_bytes(Dtype::f32) * elements;
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace stepc
