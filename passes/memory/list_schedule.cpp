#include "passes/memory/list_schedule.h"

#include "ir/layout.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/memory/arena.h"
#include "passes/memory/liveness.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace stepc {
namespace {

class ListScheduler {
 public:
  explicit ListScheduler(const Graph& graph) : graph_(graph), layouts_(graph), order_(graph.order()) {
    position_.assign(static_cast<size_t>(graph.node_limit()), -1);
    for (size_t i = 0; i < order_.size(); ++i) position_[index(order_[i])] = static_cast<int32_t>(i);
    successors_.resize(order_.size());
    waiting_.assign(order_.size(), 0);
    add_dependences();
    add_reads_before_writes();
    if (graph.accumulates()) add_update_after_micro_step();
    count_block_reads();
  }

  std::vector<NodeId> run() {
    for (int32_t node = 0; node < size(); ++node)
      if (waiting_[at(node)] == 0) make_ready(node);
    std::vector<NodeId> result;
    while (!ready_.empty()) {
      const int32_t node = pick();
      result.push_back(order_[at(node)]);
      finish(node);
    }
    CHECK(result.size() == order_.size(), "dependences form a cycle");
    return result;
  }

 private:
  static size_t at(int32_t node) { return static_cast<size_t>(node); }
  static size_t index(NodeId id) { return static_cast<size_t>(id.index); }
  int32_t size() const { return static_cast<int32_t>(order_.size()); }
  const Node& node(int32_t position) const { return graph_.node(order_[at(position)]); }

  void add_edge(int32_t from, int32_t to) {
    successors_[at(from)].push_back(to);
    ++waiting_[at(to)];
  }

  void add_dependences() {
    for (int32_t to = 0; to < size(); ++to)
      for (const ValueId operand : node(to).inputs)
        if (operand.valid() && graph_.value(operand).producer.valid())
          add_edge(position_[index(graph_.value(operand).producer)], to);
  }

  void add_reads_before_writes() {
    std::map<ValueId, std::vector<int32_t>> readers;  // of each state's block
    for (const StatePair& state : graph_.states()) readers[state.input];
    for (int32_t reader = 0; reader < size(); ++reader)
      for (const ValueId operand : node(reader).inputs)
        if (operand.valid())
          if (const auto entry = readers.find(layouts_.block(operand)); entry != readers.end())
            entry->second.push_back(reader);
    for (const StatePair& state : graph_.states()) {
      const NodeId producer = graph_.value(state.output).producer;
      if (!producer.valid()) continue;
      const int32_t writer = position_[index(producer)];
      for (const int32_t reader : readers[state.input])
        if (reader < writer && !runs_after(reader, writer)) add_edge(reader, writer);
      in_place_.insert(state.output);
    }
  }

  // Whether the update is what keeps a node from being done before another.
  bool runs_after(int32_t i, int32_t other) const { return graph_.accumulates() && is_update(i) && !is_update(other); }

  // Every node of the micro-step before every node of the update: edges would be their product, so the update's nodes
  // wait for a count instead.
  void add_update_after_micro_step() {
    for (int32_t i = 0; i < size(); ++i) micro_step_left_ += is_update(i) ? 0 : 1;
    for (int32_t i = 0; i < size(); ++i) waiting_[at(i)] += is_update(i) && micro_step_left_ > 0 ? 1 : 0;
  }

  bool is_update(int32_t i) const { return node(i).origin.phase == Phase::optimizer; }

  // Reads left of each arena block, and what is freed when they are done.
  void count_block_reads() {
    reads_left_.assign(static_cast<size_t>(graph_.value_limit()), 0);
    for (int32_t i = 0; i < size(); ++i)
      for (const ValueId block : operand_blocks(i)) ++reads_left_[static_cast<size_t>(block.index)];
    for (const GraphOutput& output : graph_.outputs())
      ++reads_left_[static_cast<size_t>(layouts_.block(output.value).index)];
  }

  // Distinct arena blocks that a node reads.
  std::vector<ValueId> operand_blocks(int32_t i) const {
    std::vector<ValueId> blocks;
    for (const ValueId operand : node(i).inputs) {
      if (!operand.valid()) continue;
      const ValueId block = layouts_.block(operand);
      const Node* producer = graph_.producer(block);
      if (producer != nullptr && producer->op != Op::constant && !in_place_.contains(block)) blocks.push_back(block);
    }
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
  }

  int64_t taken_minus_freed(int32_t i) const {
    int64_t bytes = 0;
    for (const ValueId output : node(i).outputs)
      if (!layouts_.is_alias(output) && !in_place_.contains(output)) bytes += graph_.type(output).bytes();
    for (const ValueId block : operand_blocks(i))
      if (reads_left_[static_cast<size_t>(block.index)] == 1) bytes -= graph_.type(block).bytes();
    return bytes;
  }

  bool costs_nothing(int32_t i) const { return taken_minus_freed(i) <= kArenaAlignment; }

  void make_ready(int32_t i) {
    ready_.insert(i);
    if (costs_nothing(i)) frees_.insert(i);
  }

  int32_t pick() {
    const int32_t best = frees_.empty() ? *ready_.begin() : *frees_.begin();
    frees_.erase(best);
    ready_.erase(best);
    return best;
  }

  void finish(int32_t i) {
    for (const ValueId block : operand_blocks(i))
      if (--reads_left_[static_cast<size_t>(block.index)] == 1) last_reader_may_free(block);
    for (const int32_t successor : successors_[at(i)])
      if (--waiting_[at(successor)] == 0) make_ready(successor);
    if (micro_step_left_ > 0 && !is_update(i) && --micro_step_left_ == 0)
      for (int32_t k = 0; k < size(); ++k)
        if (is_update(k) && --waiting_[at(k)] == 0) make_ready(k);
  }

  // One read is left: its node, if ready, has become cheaper. Only the block's owner's direct uses are looked at; views
  // of it are found when they become ready.
  void last_reader_may_free(ValueId block) {
    for (const Use& use : graph_.value(block).uses) {
      const int32_t reader = position_[index(use.node)];
      if (ready_.contains(reader) && costs_nothing(reader)) frees_.insert(reader);
    }
  }

  const Graph& graph_;
  const Layouts layouts_;
  const std::vector<NodeId> order_;
  std::vector<int32_t> position_;  // per node index
  std::vector<std::vector<int32_t>> successors_;
  std::vector<int32_t> waiting_;  // dependences not yet done
  std::set<ValueId> in_place_;    // new state values
  std::vector<int32_t> reads_left_;
  int64_t micro_step_left_ = 0;
  std::set<int32_t> ready_;
  std::set<int32_t> frees_;  // the ready ones that cost nothing
};

}  // namespace

std::vector<NodeId> list_schedule(const Graph& graph) { return ListScheduler(graph).run(); }

int64_t peak_of(const Graph& graph, std::span<const NodeId> order) {
  const Layouts layouts(graph);
  std::vector<NodeId> steps;
  std::ranges::copy_if(order, std::back_inserter(steps), [&](NodeId id) { return is_launch(graph, layouts, id); });
  return Liveness(graph, layouts, steps).max_live_bytes();
}

}  // namespace stepc
