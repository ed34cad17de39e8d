// plan-memory: gives every block its place: one arena for activations, gradients, temporaries and scratch, and one
// persistent region for weights, constants and optimizer state. Changes no node; leaves PassContext::plan.
//
// A result takes over the block of an operand that dies with it where the kernel may write in place (ir/in_place.h).
// New state values are written over the old ones where nothing reads those afterwards, else copied after the last step.
// Near-linear but for the arena's layout (memory/arena.h).

#include "ir/in_place.h"
#include "ir/layout.h"
#include "ir/support/error.h"
#include "passes/memory/arena.h"
#include "passes/memory/liveness.h"
#include "passes/memory/loss_at_peak.h"
#include "passes/pass.h"

#include <algorithm>

namespace stepc {
namespace {

class Planner {
 public:
  Planner(const Graph& graph, const LibraryScratch* scratch)
      : graph_(graph),
        layouts_(graph),
        in_place_(graph),
        steps_(launches(graph, layouts_)),
        life_(graph, layouts_, steps_) {
    for (const BlockLife& block : life_.blocks())
      plan_.blocks.push_back(
          {block.owner, block.bytes, block.memory_class, block.persistent, 0, block.first, block.last});
    plan_.block_of_value.assign(static_cast<size_t>(graph.value_limit()), -1);
    for (int32_t i = 0; i < graph.value_limit(); ++i)
      if (graph.alive(ValueId{i})) plan_.block_of_value[static_cast<size_t>(i)] = life_.block_of(ValueId{i});
    for (const NodeId id : steps_)
      plan_.steps.push_back({id, 0, scratch == nullptr ? 0 : scratch->scratch_bytes(graph, id, layouts_)});
    plan_.state_copies = life_.state_copies();
  }

  Plan run() {
    for (int32_t step = 0; step < static_cast<int32_t>(steps_.size()); ++step) write_in_place(step);
    place_persistent();
    place_arena();
    for (int32_t i = 0; i < graph_.value_limit(); ++i)
      plan_.layout_of_value.push_back(graph_.alive(ValueId{i}) ? layouts_.of(ValueId{i}) : Layout{});
    return std::move(plan_);
  }

 private:
  PlannedBlock& block(int32_t index) { return plan_.blocks[static_cast<size_t>(index)]; }
  int32_t& block_of(ValueId id) { return plan_.block_of_value[static_cast<size_t>(id.index)]; }

  // Merges each result's block into that of an operand that dies at this step.
  void write_in_place(int32_t step) {
    const Node& node = graph_.node(steps_[static_cast<size_t>(step)]);
    std::vector<int32_t> taken;
    for (size_t output = 0; output < node.outputs.size(); ++output)
      for (size_t k = 0; k < node.inputs.size(); ++k)
        if (can_take_over(node, output, k, step) && std::ranges::count(taken, block_of(node.inputs[k])) == 0) {
          taken.push_back(block_of(node.inputs[k]));
          take_over(block_of(node.outputs[output]), taken.back());
          break;
        }
  }

  bool can_take_over(const Node& node, size_t output, size_t operand, int32_t step) {
    const ValueId from = node.inputs[operand];
    if (!from.valid()) return false;
    PlannedBlock& old = block(block_of(from));
    PlannedBlock& own = block(block_of(node.outputs[output]));
    if (old.persistent || own.persistent || old.last != step || own.first != step || old.bytes != own.bytes ||
        graph_.input_of(old.owner) != nullptr || is_read_at_end(block_of(from)))
      return false;
    // The block is read at this step through this operand alone, and as a whole.
    const Layout& layout = layouts_.of(from);
    if (layout.offset != 0 || !is_row_major(layout, graph_.shape(from))) return false;
    const auto same_block = [&](ValueId v) { return v.valid() && block_of(v) == block_of(from); };
    return std::ranges::count_if(node.inputs, same_block) == 1 && in_place_.may_overwrite(node, output, operand);
  }

  // Outputs, and new values that are copied into their states, are read after the last launch, which must leave them.
  bool is_read_at_end(int32_t index) {
    const auto lies_there = [&](ValueId value) { return block_of(value) == index; };
    return block(index).last + 1 == std::ssize(steps_) &&
           (std::ranges::any_of(graph_.outputs(), lies_there, &GraphOutput::value) ||
            std::ranges::any_of(life_.state_copies(), lies_there, &StateCopy::from));
  }

  void take_over(int32_t own, int32_t old) {
    block(old).last = block(own).last;
    if (block(own).memory_class != MemoryClass::temporary) block(old).memory_class = block(own).memory_class;
    block(own).bytes = 0;
    for (const ValueId value : values_of(own)) block_of(value) = old;
  }

  // Values that lie in a block: its owner and the views of it.
  const std::vector<ValueId>& values_of(int32_t index) {
    if (values_of_.empty()) {
      values_of_.resize(plan_.blocks.size());
      for (int32_t i = 0; i < graph_.value_limit(); ++i)
        if (const int32_t b = plan_.block_of_value[static_cast<size_t>(i)]; b >= 0)
          values_of_[static_cast<size_t>(b)].push_back(ValueId{i});
    }
    return values_of_[static_cast<size_t>(index)];
  }

  void place_persistent() {
    for (PlannedBlock& b : plan_.blocks) {
      if (!b.persistent) continue;
      b.offset = plan_.persistent_bytes;
      plan_.persistent_bytes += aligned_bytes(b.bytes);
    }
  }

  void place_arena() {
    std::vector<Tenant> tenants;
    for (const PlannedBlock& b : plan_.blocks) tenants.push_back({b.persistent ? 0 : b.bytes, b.first, b.last});
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      tenants.push_back({plan_.steps[i].scratch_bytes, static_cast<int32_t>(i), static_cast<int32_t>(i)});
    const ArenaLayout arena = lay_out_arena(tenants);
    for (size_t i = 0; i < plan_.blocks.size(); ++i)
      if (!plan_.blocks[i].persistent) plan_.blocks[i].offset = arena.offsets[i];
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      plan_.steps[i].scratch_offset = arena.offsets[plan_.blocks.size() + i];
    plan_.arena_bytes = arena.bytes;
    plan_.max_live_lower_bound = max_live_bytes(tenants);
  }

  const Graph& graph_;
  const Layouts layouts_;
  InPlace in_place_;
  const std::vector<NodeId> steps_;
  const Liveness life_;
  std::vector<std::vector<ValueId>> values_of_;
  Plan plan_;
};

bool run(Graph& graph, PassContext& context) {
  context.plan = Planner(graph, context.scratch).run();
  note_loss_at_peak(graph, *context.plan, context);
  return false;
}

constexpr Fact kNeeds[] = {Fact::scheduled};
constexpr Fact kProvides[] = {Fact::planned};

}  // namespace

extern const Pass pass_plan_memory;
const Pass pass_plan_memory{
    .name = "plan-memory",
    .summary = "gives every block a place in the arena or the persistent region",
    .contract = {.needs = kNeeds, .provides = kProvides, .required = true},
    .run = run,
};

}  // namespace stepc
