#pragma once

#include "tools/driver/options.h"
#include "tools/driver/step.h"

#include <string>

namespace stepc {

// Throws UserError where a planned step needs more memory than is left where it runs, on this machine or its GPU: said
// before any is taken. What the interpreter needs is an estimate.
void require_memory(const Step& step, const DriverOptions& options);
void require_interpreter_memory(const Step& step);

// Of a step for target cuda: that the device of --device-spec is too small for it. Empty where it is not.
std::string gpu_memory_note(const Step& step, const DriverOptions& options);

}  // namespace stepc
