#pragma once

#include "ir/graph.h"
#include "ir/in_place.h"
#include "ir/layout.h"
#include "ir/plan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace stepc {

// One storage block over a given order of launches. Steps count launches: aliasing views and constants have none.
struct BlockLife {
  ValueId owner;
  int64_t bytes = 0;
  MemoryClass memory_class{};
  bool persistent = false;  // weights, constants, states and accumulators: not in the arena
  int32_t first = 0;        // the step that writes it, or 0 for inputs
  int32_t last = 0;         // the last step that reads it or one of its views; the final step for inputs and outputs
};

// Whether a node is a launch: not an aliasing view, not a constant (constants are persistent data).
bool is_launch(const Graph& graph, const Layouts& layouts, NodeId id);

// The graph's launches in list order.
std::vector<NodeId> launches(const Graph& graph, const Layouts& layouts);

class Liveness {
 public:
  // `steps` are the launches in execution order. A state's new value that can be written over the old one lies in the
  // state's block and has no life of its own.
  Liveness(const Graph& graph, const Layouts& layouts, std::span<const NodeId> steps);

  const std::vector<BlockLife>& blocks() const { return blocks_; }
  // Index into blocks() of the block that a value lies in; -1 for values of dead nodes.
  int32_t block_of(ValueId id) const { return block_of_[static_cast<size_t>(id.index)]; }
  // States whose new value is copied over the old one after the last step.
  const std::vector<StateCopy>& state_copies() const { return state_copies_; }
  // The largest sum of live bytes outside the persistent region at one step.
  int64_t max_live_bytes() const;

 private:
  void add_inputs();
  void add_results(std::span<const NodeId> steps);
  void share_states();
  bool replaces_state(const StatePair& state, InPlace& in_place) const;
  void read(ValueId id, int32_t step);

  const Graph& graph_;
  const Layouts& layouts_;
  std::vector<int32_t> step_of_;  // per node index, -1 where no launch
  std::vector<BlockLife> blocks_;
  std::vector<int32_t> last_read_;  // per block, -1 where nothing reads it
  std::vector<int32_t> block_of_;   // per value index
  std::vector<StateCopy> state_copies_;
  int32_t final_step_ = 0;
};

}  // namespace stepc
