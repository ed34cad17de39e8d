#pragma once

#include "ir/kernel.h"

#include <string>
#include <string_view>

namespace stepc::cuda {

// The type of elements in memory that device functions are templates over: "bfloat16" (device/half.cuh).
std::string_view element_type(Dtype dtype);
// A buffer as a pointer to such elements: "b0", or "reinterpret_cast<const bfloat16*>(b0)".
std::string element_pointer(const Kernel& kernel, size_t buffer);

}  // namespace stepc::cuda
