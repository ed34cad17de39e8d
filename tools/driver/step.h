#pragma once

#include "ir/plan.h"
#include "passes/analysis/saved.h"
#include "passes/runner.h"
#include "tools/driver/model.h"
#include "tools/driver/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace stepc {

// FLOPs of the joint graph right after autodiff, by phase.
struct PhaseFlops {
  int64_t forward = 0;  // loss included
  int64_t backward = 0;
};

// A training step after the passes: what `compile`, `run` and the reports are about.
struct Step {
  Graph graph;
  std::vector<PassRow> passes;
  SavedListing saved;               // compiled accounting
  std::optional<Plan> plan;         // absent where --stop-after ended before plan-memory
  std::optional<PhaseFlops> flops;  // absent before autodiff
  int64_t optimizer_flops = 0;
};

// Runs the default pipeline on the model's graph, which it takes, with the options' dumps, skips and stops.
Step build_step(Model& model, const DriverOptions& options, const LibraryScratch* scratch);

}  // namespace stepc
