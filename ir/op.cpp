#include "ir/op.h"

#include "ir/op_def.h"

#include <array>
#include <string>
#include <unordered_map>

namespace stepc {

namespace {

constexpr auto kNames = std::to_array<std::string_view>({
#define OP(name) #name,
#include "ir/ops.def"
#undef OP
});

constexpr auto kDefs = std::to_array<const OpDef*>({
#define OP(name) &op_##name,
#include "ir/ops.def"
#undef OP
});

}  // namespace

std::string_view op_name(Op op) { return kNames[static_cast<size_t>(op)]; }

std::optional<Op> op_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Op>(i);
  return std::nullopt;
}

const OpDef& op_def(Op op) { return *kDefs[static_cast<size_t>(op)]; }

}  // namespace stepc
