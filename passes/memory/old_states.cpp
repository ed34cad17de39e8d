#include "passes/memory/old_states.h"

#include "ir/builder.h"
#include "ir/layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace stepc {
namespace {

class OldStates {
 public:
  explicit OldStates(Graph& graph)
      : graph_(graph),
        layouts_(graph),
        order_(graph.order()),
        position_(static_cast<size_t>(graph.node_limit()), -1),
        late_(static_cast<size_t>(graph.value_limit())),
        waiting_(order_.size()),
        done_(order_.size()),
        readers_(order_.size()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[index(order_[i])] = static_cast<int32_t>(i);
    for (const StatePair& state : graph.states())
      if (state.output != state.input) overwritten_.insert(state.input);
  }

  bool run() {
    if (overwritten_.empty()) return false;
    note_kept();
    const std::vector<NodeId> order = readers_first();
    spread_over_views();
    bool changed = order != order_;
    for (const NodeId id : order) graph_.move_before(id, kNoNode);
    for (const ValueId state : overwritten_)
      if (is_late(state)) changed = true, copy(state);
    return changed;
  }

 private:
  // A launch that reads the old value of a state.
  struct Reader {
    int32_t node;
    ValueId state;
  };

  template <typename Id>
  static size_t index(Id id) {
    return static_cast<size_t>(id.index);
  }
  static size_t at(int32_t position) { return static_cast<size_t>(position); }
  bool is_late(ValueId value) const { return late_[index(value)]; }
  bool is_view(NodeId id) const { return layouts_.is_alias(graph_.node(id)); }
  bool is_update(int32_t i) const { return graph_.node(order_[at(i)]).origin.phase == Phase::optimizer; }

  // What is read after the last launch.
  void note_kept() {
    const auto keep = [&](ValueId value) {
      if (overwritten_.contains(layouts_.block(value))) late_[index(value)] = true;
    };
    for (const GraphOutput& output : graph_.outputs()) keep(output.value);
    for (const StatePair& state : graph_.states())
      if (state.output != state.input) keep(state.output);
  }

  // The nodes in an order in which what reads a state comes before what writes it, near the present one. Where there is
  // none, the first node that waits in vain for readers goes ahead, and they are late.
  std::vector<NodeId> readers_first() {
    find_readers();
    for (int32_t i = 0; i < size(); ++i) {
      for (const ValueId operand : graph_.node(order_[at(i)]).inputs)
        if (operand.valid() && graph_.value(operand).producer.valid()) ++waiting_[at(i)];
      waiting_[at(i)] += static_cast<int32_t>(readers_[at(i)].size());
      for (const Reader& reader : readers_[at(i)]) writers_.insert({reader.node, i});
      if (waiting_[at(i)] == 0) ready_.insert(i);
    }
    std::vector<NodeId> order;
    for (int32_t first = 0; first < size();) {
      if (done_[at(first)]) {
        ++first;
        continue;
      }
      if (ready_.empty()) go_ahead(first);
      const int32_t next = *ready_.begin();
      ready_.erase(ready_.begin());
      order.push_back(order_[at(next)]);
      finish(next);
    }
    return order;
  }

  int32_t size() const { return static_cast<int32_t>(order_.size()); }

  // Of each node that writes states, the others that read them. The update runs after the micro-step: its reads of what
  // a micro-step writes are late.
  void find_readers() {
    std::multimap<ValueId, int32_t> readers;
    for (int32_t i = 0; i < size(); ++i) {
      if (is_view(order_[at(i)])) continue;
      std::set<ValueId> states;
      for (const ValueId operand : graph_.node(order_[at(i)]).inputs)
        if (operand.valid() && overwritten_.contains(layouts_.block(operand))) states.insert(layouts_.block(operand));
      for (const ValueId state : states) readers.emplace(state, i);
    }
    for (const StatePair& state : graph_.states()) {
      const NodeId producer = graph_.value(state.output).producer;
      if (!producer.valid() || layouts_.is_alias(state.output)) continue;  // copied after the last launch
      const int32_t writer = position_[index(producer)];
      const auto [begin, end] = readers.equal_range(state.input);
      for (auto reader = begin; reader != end; ++reader) {
        if (reader->second == writer) continue;
        if (graph_.accumulates() && is_update(reader->second) && !is_update(writer))
          late_reads_.emplace(reader->second, state.input);
        else
          readers_[at(writer)].push_back({reader->second, state.input});
      }
    }
  }

  void go_ahead(int32_t writer) {
    for (const Reader& reader : readers_[at(writer)])
      if (!done_[at(reader.node)]) late_reads_.emplace(reader.node, reader.state);
    ready_.insert(writer);
  }

  void finish(int32_t node) {
    done_[at(node)] = true;
    const auto release = [&](int32_t waiting) {
      if (--waiting_[at(waiting)] == 0 && !done_[at(waiting)]) ready_.insert(waiting);
    };
    for (const ValueId output : graph_.node(order_[at(node)]).outputs)
      for (const Use& use : graph_.value(output).uses) release(position_[index(use.node)]);
    const auto [begin, end] = writers_.equal_range(node);
    for (auto writer = begin; writer != end; ++writer) release(writer->second);
  }

  void spread_over_views() {
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      if (is_view(*id)) {
        if (is_late(node.outputs[0])) late_[index(node.inputs[0])] = true;
        continue;
      }
      for (const ValueId operand : node.inputs)
        if (operand.valid() && is_late_read(*id, layouts_.block(operand))) late_[index(operand)] = true;
    }
  }

  bool is_late_read(NodeId reader, ValueId state) const {
    return late_reads_.contains({position_[index(reader)], state});
  }

  // What is late reads the copy, the others the state as before.
  void copy(ValueId state) {
    const std::vector<Use> uses = graph_.value(state).uses;
    const ValueId copied = Builder(graph_, {}, graph_.first()).make(Op::cast, {state}, {{"to", graph_.dtype(state)}});
    const NodeId copier = graph_.value(copied).producer;
    graph_.replace_uses(state, copied);
    graph_.set_operand(copier, 0, state);
    for (const Use& use : uses) {
      const bool late = is_view(use.node) ? is_late(graph_.node(use.node).outputs[0]) : is_late_read(use.node, state);
      if (!late) graph_.set_operand(use.node, static_cast<size_t>(use.operand), state);
    }
  }

  Graph& graph_;
  const Layouts layouts_;
  const std::vector<NodeId> order_;
  std::vector<int32_t> position_;                     // per node index
  std::set<ValueId> overwritten_;                     // states that get a new value
  std::vector<bool> late_;                            // per value: something reads it, or a view of it, too late
  std::set<std::pair<int32_t, ValueId>> late_reads_;  // node, state
  std::vector<int32_t> waiting_;                      // per node: operands and readers that are not done
  std::vector<bool> done_;
  std::vector<std::vector<Reader>> readers_;  // per node: of the states that it writes
  std::multimap<int32_t, int32_t> writers_;   // by reader
  std::set<int32_t> ready_;
};

}  // namespace

// Copies that states take over are written over those in turn, and come after what reads them: a second round finds
// their place. Its copies are no state's, so the third is the last.
bool keep_old_states(Graph& graph) {
  bool changed = false;
  while (OldStates(graph).run()) changed = true;
  return changed;
}

}  // namespace stepc
