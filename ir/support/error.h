#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace stepc {

// Bad input or an impossible request. The message is one line that says what is wrong, where, and what would fix it.
// Exit status 1.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant of stepc itself. Exit status 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <typename... Args>
[[noreturn]] void user_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace stepc

// CHECK(condition) or CHECK(condition, "format", args...): an invariant of ours, never a property of the input.
#define CHECK(condition, ...)                                                               \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::stepc::check_failed(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
