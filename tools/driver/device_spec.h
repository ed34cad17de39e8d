#pragma once

#include "ir/cost/device_spec.h"

#include <string>
#include <string_view>

namespace stepc {

// --device-spec: a built-in device's name, or a file of schema stepc-device/1. Throws UserError for anything else, in
// one line: the file, the key, what it may hold.
DeviceSpec load_device_spec(const std::string& name_or_file);

// The same from text; `file` is for errors.
DeviceSpec parse_device_spec(std::string_view text, const std::string& file);

// The text of schema stepc-device/1: rates per second, sizes in bytes.
std::string device_spec_text(const DeviceSpec& spec);

}  // namespace stepc
