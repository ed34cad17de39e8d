#include "codegen/cpu/print_kernel.h"
#include "codegen/scalar_text.h"
#include "ir/support/error.h"

namespace stepc::cpu {

void declare_buffers(Text& text, const Kernel& kernel) {
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const KernelBuffer& buffer = kernel.buffers[i];
    const std::string type = fmt::format("{}{}", buffer.written ? "" : "const ", storage_type(buffer.dtype));
    text.line("{}* const b{} = buffer<{}>(args, {});", type, i, type, i);
  }
}

void print_body(Text& text, const Kernel& kernel) {
  if (std::holds_alternative<PartsWork>(kernel.work)) return print_parts(text, kernel);
  switch (kernel.kind) {
    case KernelKind::map: return print_map(text, kernel);
    case KernelKind::row_reduction: return print_row_reduction(text, kernel);
    case KernelKind::column_reduction: return print_column_reduction(text, kernel);
    case KernelKind::inner_outer: return print_inner_outer(text, kernel);
    case KernelKind::scan: return print_scan(text, kernel);
    case KernelKind::top_k: return print_top_k(text, kernel);
    case KernelKind::scatter: return print_scatter(text, kernel);
    case KernelKind::attention: return print_attention(text, kernel);
    case KernelKind::linear_cross_entropy: return print_linear_cross_entropy(text, kernel);
    case KernelKind::contraction: return print_contraction(text, kernel);
    case KernelKind::convolution: break;
  }
  CHECK(false, "convolutions of a library are not printed");
}

}  // namespace stepc::cpu
