#pragma once

#include "passes/pass.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace stepc {

// What one pass did, measured on the graph after it. A figure that does not exist yet is empty, never 0.
struct PassRow {
  std::string name;
  bool changed = false;
  int64_t wall_us = 0;  // the pass alone, without verification and measurement
  int64_t nodes = 0;
  int64_t kernels = 0;  // launches: nodes that are neither aliasing views nor constants
  int64_t flops = 0;
  int64_t traffic_bytes = 0;  // read and written, each node by itself
  std::optional<int64_t> saved_tensors;
  std::optional<int64_t> saved_bytes;  // new bytes, compiled accounting
  std::optional<int64_t> planned_peak_bytes;
  std::optional<double> predicted_step_us;  // of the nodes as they are, each a launch, on PassContext::device
  std::vector<std::string> notes;
};

struct RunnerOptions {
  std::string stop_after{};      // the last pass to run (its last occurrence); empty: all
  std::set<std::string> skip{};  // passes left out; UserError for a required one
  // Once this many passes that are not required have changed the graph, the rest of them are left out (LLVM's
  // opt-bisect, counting changes): where N is right and N+1 wrong, row N+1 of the changed ones is the culprit.
  std::optional<int64_t> bisect{};
  bool verify = true;
  bool measure = true;
  bool check_changed = false;  // compare each pass's answer with the graph's text (slow)
  std::function<void(const Graph&, std::string_view pass, size_t position)> dump{};  // after each pass that ran
};

// Runs the passes in order. Before each: contract checks (UserError for an order that a contract forbids). After each:
// verification; a graph broken by a pass is our bug and names the pass.
std::vector<PassRow> run_passes(Graph& graph, std::span<const Pass* const> pipeline, PassContext& context,
                                const RunnerOptions& options = {});

}  // namespace stepc
