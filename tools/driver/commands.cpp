#include "tools/driver/commands.h"

#include <array>

namespace stepc {

extern const Command command_zoo, command_inspect, command_compile, command_run, command_saved, command_check,
    command_opt, command_doctor;

std::span<const Command* const> all_commands() {
  static constexpr std::array kCommands{&command_zoo,   &command_inspect, &command_compile, &command_run,
                                        &command_saved, &command_check,   &command_opt,     &command_doctor};
  return kCommands;
}

}  // namespace stepc
