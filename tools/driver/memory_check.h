#pragma once

#include "tools/driver/step.h"

namespace stepc {

// Throws UserError where a planned step needs more memory than this machine has left: said before any is taken. What
// the interpreter needs is an estimate.
void require_memory(const Step& step, Target target);

}  // namespace stepc
