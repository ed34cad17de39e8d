#include "ir/support/error.h"

namespace stepc {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(
      fmt::format("{}:{}: invariant broken: {}{}{}", file, line, condition, message.empty() ? "" : ": ", message));
}

}  // namespace stepc
