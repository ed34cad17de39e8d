#pragma once

#include "ir/cost/roofline.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "passes/fusion/verdict.h"
#include "passes/options.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepc {

// What is true of a graph beyond well-formedness. The runner derives the first group from the graph itself and tracks
// the second, which leaves no trace in the graph, from pass to pass.
enum class Fact : uint8_t {
  has_loss,       // an output of role loss
  has_backward,   // a node of phase backward, or an output of role gradient
  has_optimizer,  // a weight that is updated
  has_fused,      // a fused node
  scheduled,      // the order of nodes is the order of execution
  planned,        // PassContext::plan describes this very graph
};
constexpr size_t kFactCount = 6;

std::string_view fact_name(Fact fact);

// What the outputs that exist before and after the pass, by name, have in common. Gradients are left out: accumulate
// and clip are there to scale them.
enum class Preserves : uint8_t {
  exactly,         // bit for bit, in the reference interpreter and on every target
  tolerance,       // up to PassContract::relative_tolerance
  common_outputs,  // bit for bit; outputs come or go
};

struct PassContract {
  std::span<const Fact> needs{};
  std::span<const Fact> refuses{};  // a graph of which any of these is true is a UserError
  std::span<const Fact> breaks{};
  std::span<const Fact> provides{};
  std::span<const std::string_view> forbids_after{};  // passes that may not run later in the same pipeline
  Preserves preserves = Preserves::exactly;
  double relative_tolerance = 0;
  // Part of what a training step means or of what a backend needs: neither --bisect nor --skip leaves it out silently.
  bool required = false;
};

// What passes read besides the graph, and what they leave besides it.
struct PassContext {
  explicit PassContext(const TrainOptions& train) : options(train) {}

  const TrainOptions& options;
  const LibraryScratch* scratch = nullptr;  // null: library contractions need none
  std::optional<LossOptions> loss;          // left by loss: with the kind and the names that it chose
  std::optional<Plan> plan;                 // left by plan-memory; reset where a pass breaks Fact::planned
  DeviceSpec device = cpu_device();         // what costs are predicted for
  std::vector<FusionVerdict> fusion;        // left by fuse at level full
  std::vector<std::string> notes;           // one line each; the runner moves them into the pass's row

  void note(std::string text) { notes.push_back(std::move(text)); }
};

// One transformation, one file: passes/<name>.cpp with `extern const Pass pass_<name>`, and one line in passes.def.
// `run` returns whether the graph's text changed. Names use hyphens.
struct Pass {
  std::string_view name;
  std::string_view summary;  // one line, for --list-passes
  PassContract contract;
  bool (*run)(Graph&, PassContext&) = nullptr;
};

}  // namespace stepc
