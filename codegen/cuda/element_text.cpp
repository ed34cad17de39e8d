#include "codegen/cuda/element_text.h"

#include "codegen/scalar_text.h"

#include <fmt/format.h>

namespace stepc::cuda {

std::string_view element_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16: return "bfloat16";
    case Dtype::f16: return "half";
    default: return storage_type(dtype);
  }
}

std::string element_pointer(const Kernel& kernel, size_t buffer) {
  const KernelBuffer& of = kernel.buffers[buffer];
  const std::string_view type = element_type(of.dtype);
  if (type == storage_type(of.dtype)) return fmt::format("b{}", buffer);
  return fmt::format("reinterpret_cast<{}{}*>(b{})", of.written ? "" : "const ", type, buffer);
}

}  // namespace stepc::cuda
