#pragma once

#include "models/onnx/lowering.h"

#include <string_view>

namespace stepc::onnx_import {

// The rule of an operation, or null when it is not supported. The default domain is "".
LowerRule find_rule(std::string_view domain, std::string_view op_type);

}  // namespace stepc::onnx_import
