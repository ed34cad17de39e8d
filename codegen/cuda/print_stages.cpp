#include "codegen/cuda/print_attention.h"
#include "codegen/cuda/print_contraction.h"
#include "codegen/cuda/print_kernel.h"
#include "codegen/cuda/print_linear_cross_entropy.h"
#include "ir/support/error.h"

namespace stepc::cuda {

std::vector<StageText> print_stages(const Kernel& kernel, std::span<const int64_t> alignments) {
  if (std::holds_alternative<PartsWork>(kernel.work)) return print_parts(kernel, alignments);
  switch (kernel.kind) {
    case KernelKind::map: return print_map(kernel, alignments);
    case KernelKind::row_reduction: return print_row_reduction(kernel, alignments);
    case KernelKind::column_reduction: return print_column_reduction(kernel);
    case KernelKind::inner_outer: return print_inner_outer(kernel, alignments);
    case KernelKind::scan: return print_scan(kernel);
    case KernelKind::top_k: return print_top_k(kernel);
    case KernelKind::scatter: return print_scatter(kernel);
    case KernelKind::contraction: return print_contraction(kernel);
    case KernelKind::convolution: return print_convolution(kernel);
    case KernelKind::attention: return print_attention(kernel);
    case KernelKind::linear_cross_entropy: return print_linear_cross_entropy(kernel);
  }
  CHECK(false, "{}", kernel_kind_name(kernel.kind));
  return {};
}

}  // namespace stepc::cuda
