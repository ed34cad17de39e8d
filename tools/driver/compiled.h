#pragma once

#include "ir/plan.h"
#include "tools/driver/model.h"
#include "tools/driver/step.h"

namespace stepc {

// Throws UserError where the target does not execute what --precision asks for.
void refuse_precision_of_other_targets(const DriverOptions& options);

// A step with the model that it was made from.
struct CompiledStep {
  Model model;
  Step step;
};
// A step that the options' target will run.
CompiledStep compile_step(Model model, const DriverOptions& options, const LibraryScratch* scratch);

}  // namespace stepc
