#pragma once

#include "ir/plan.h"
#include "tools/driver/model.h"
#include "tools/driver/step.h"

namespace stepc {

// A step with the model that it was made from.
struct CompiledStep {
  Model model;
  Step step;
};
CompiledStep compile_step(Model model, const DriverOptions& options, const LibraryScratch* scratch);

}  // namespace stepc
