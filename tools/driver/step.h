#pragma once

#include "ir/cost/device_spec.h"
#include "ir/plan.h"
#include "passes/analysis/attention_flops.h"
#include "passes/analysis/saved.h"
#include "passes/fusion/verdict.h"
#include "passes/runner.h"
#include "tools/driver/model.h"
#include "tools/driver/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace stepc {

// FLOPs of one micro-step by phase: of the joint graph right after autodiff, and of what is recomputed later.
struct PhaseFlops {
  int64_t forward = 0;  // loss included
  int64_t backward = 0;
  int64_t recompute = 0;
};

// A training step after the passes: what `compile`, `run` and the reports are about.
struct Step {
  Graph graph;
  std::vector<PassRow> passes;
  LossOptions loss;                 // as the pass loss chose
  SavedListing saved;               // compiled accounting
  std::optional<Plan> plan;         // absent where --stop-after ended before plan-memory
  std::optional<PhaseFlops> flops;  // absent before autodiff
  std::optional<AttentionFlops> attention;
  int64_t optimizer_flops = 0;
  std::vector<FusionVerdict> fusion;  // of every edge that level full looked at
  DeviceSpec device = cpu_device();   // what predictions are made for
};

// FLOPs of a graph's nodes, one that is not differentiated yet.
int64_t forward_flops(const Graph& graph);

// Token positions of one micro-step, by the graph's inputs: elements of an integer matrix, else rows of a float input
// of rank 3 ([batch, sequence, width]). Nothing for other inputs.
std::optional<int64_t> token_positions(const Graph& graph);

// Runs the default pipeline on the model's graph, which it takes, with the options' dumps, skips and stops.
Step build_step(Model& model, const DriverOptions& options, const LibraryScratch* scratch);

}  // namespace stepc
