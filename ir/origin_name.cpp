#include "ir/origin_name.h"

#include <fmt/format.h>

namespace stepc {

std::string origin_name(const Origin& origin) {
  if (!origin.onnx.empty()) return origin.onnx.front();
  if (!origin.scope.empty()) return origin.scope;
  return fmt::format("of phase {}", phase_name(origin.phase));
}

}  // namespace stepc
