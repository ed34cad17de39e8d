#pragma once

#include "ir/kernel.h"

#include <string>
#include <string_view>
#include <vector>

// Scalars as C++ text. 16-bit floats are held as f32 whose value is one of theirs; bools as bool.
namespace stepc {

std::string_view value_type(Dtype dtype);    // of a variable: "float" for f16
std::string_view storage_type(Dtype dtype);  // in memory: "uint16_t" for f16
std::string literal_text(double value, Dtype dtype);

// An element read from memory as a variable's value, and back.
std::string loaded(std::string element, Dtype dtype);
std::string stored(std::string value, Dtype dtype);

// A scalar operation applied to variables.
std::string operation_text(const ScalarNode& node, const std::vector<std::string>& args, Dtype arg_dtype);

}  // namespace stepc
