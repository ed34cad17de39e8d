#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepc {

// Every operation of the IR, one line each in ops.def. Its definition is in ir/ops/<name>.cpp.
enum class Op : uint8_t {
#define OP(name) name,
#include "ir/ops.def"
#undef OP
};

std::string_view op_name(Op op);
std::optional<Op> op_from_name(std::string_view name);

}  // namespace stepc
