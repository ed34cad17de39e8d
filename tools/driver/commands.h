#pragma once

#include "tools/driver/options.h"

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace stepc {

// One command of the program: which options it takes, and what it does. `run` returns the exit status and throws
// UserError or InternalError.
struct Command {
  std::string_view name;
  std::string_view summary;
  void (*declare)(CLI::App&, DriverOptions&) = nullptr;
  int (*run)(const DriverOptions&) = nullptr;
};

std::span<const Command* const> all_commands();

}  // namespace stepc
