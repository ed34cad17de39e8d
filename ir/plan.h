#pragma once

#include "ir/graph.h"
#include "ir/layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepc {

// What the bytes of a block are, in the letters of the design: W weights (frozen ones and constants included), G
// gradients, O optimizer state, A saved tensors (and inputs and labels), T temporaries (and kept outputs and scratch).
enum class MemoryClass : uint8_t { weight, gradient, optimizer, activation, temporary };

// One storage block with its place. Steps are positions in Plan::steps; inputs are alive from step 0, kept outputs to
// the end.
struct PlannedBlock {
  ValueId owner;  // the value that the block is named after
  int64_t bytes = 0;
  MemoryClass memory_class{};
  bool persistent = false;  // lives outside the arena, between steps: weights, constants, optimizer state
  int64_t offset = 0;       // in the arena, or in the persistent region; 64-byte aligned
  int32_t first = 0;        // the first and last step that need it, inclusive
  int32_t last = 0;
};

// One launch: a node that is not an aliasing view.
struct PlanStep {
  NodeId node;
  int64_t scratch_offset = 0;  // in the arena
  int64_t scratch_bytes = 0;   // 0: none
};

// State outputs that could not be written in place: copied into the state's block after the last step.
struct StateCopy {
  ValueId from;
  ValueId state;
};

// The schedule and memory plan of one graph. Value indices are those of the planned graph.
struct Plan {
  std::vector<PlanStep> steps;
  std::vector<PlannedBlock> blocks;
  std::vector<int32_t> block_of_value;  // per value index: index into blocks; -1 for values that are never stored
  std::vector<Layout> layout_of_value;  // per value index
  std::vector<StateCopy> state_copies;
  int64_t arena_bytes = 0;
  int64_t persistent_bytes = 0;
  int64_t max_live_lower_bound = 0;  // the largest sum of live arena bytes at one step: no arena can be smaller
  int64_t peak_bytes() const { return persistent_bytes + arena_bytes; }
};

// Scratch that a library contraction or convolution needs besides its operands. Implemented in runtime/, injected by
// the driver.
class LibraryScratch {
 public:
  virtual ~LibraryScratch() = default;
  virtual int64_t scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const = 0;
};

}  // namespace stepc
