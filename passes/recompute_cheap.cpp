// recompute-cheap: makes cheap values of the forward again in the backward, where that saves memory.
//
//   %y = mul %n, %w                   (saved for dW = %yᵀ·%dy; %n = %x·%r, and %x, %r are saved anyway)
//   %dw = contraction %y, %dy   ->    %n2 = mul %x, %r, %y2 = mul %n2, %w, %dw = contraction %y2, %dy
//
// A saved block is recomputed by the pointwise nodes that lead to it from what is saved or exists anyway: inputs,
// weights, other saved blocks, results of contractions. It pays where those add less to what is saved than the block
// itself takes; where they add as much, only if they are stored in any case and the block then is not, and reading them
// costs no more than reading it. Later values decide first: what they lean on may still be recomputed itself.
// Kernels make use of it: fusion puts the recomputed nodes into their readers, which read the inputs instead. At most
// kMaxSlice nodes are made per block. Rounds follow until one finds nothing, each near-linear in the graph: as many as
// blocks lean on each other in turn, a few in practice.

#include "ir/layout.h"
#include "ir/op_def.h"
#include "passes/fusion/outline.h"
#include "passes/fusion/step_part.h"
#include "passes/pass.h"

#include <algorithm>
#include <map>
#include <set>

namespace stepc {
namespace {

constexpr size_t kMaxSlice = 24;
// Bytes within a sixteenth of a block's are as many as the block's: statistics of rows are that small.
constexpr int64_t kSlack = 16;

struct Recomputation {
  std::vector<NodeId> slice;    // forward nodes, producers first
  std::vector<ValueId> values;  // what the backward reads: the block's owner and views of it
  NodeId before;                // the first node of the backward that needs it
};

class Recomputer {
 public:
  explicit Recomputer(Graph& graph) : graph_(graph), layouts_(graph), order_(graph.order()) {
    position_.assign(static_cast<size_t>(graph.node_limit()), 0);
    for (size_t i = 0; i < order_.size(); ++i) position_[index(order_[i])] = i;
    for (const NodeId id : order_)
      if (is_backward(id))
        for (const ValueId operand : graph.node(id).inputs)
          if (operand.valid() && is_forward(operand)) note_saved(operand, id);
    find_read_by_maps();
  }

  bool run() {
    for (auto id = order_.rbegin(); id != order_.rend(); ++id)
      for (const ValueId output : graph_.node(*id).outputs)
        if (saved_.contains(output)) decide(output);
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) apply(*made);
    return !made_.empty();
  }

 private:
  struct Saved {
    std::set<ValueId> values;
    NodeId before;
  };
  // What a block is recomputed from.
  struct Slice {
    std::vector<NodeId> nodes;  // producers first
    std::set<ValueId> sources;  // blocks that are read
    bool complete = true;
  };

  static size_t index(NodeId id) { return static_cast<size_t>(id.index); }
  // The gradients of a linear layer's loss come first in the backward, in one kernel with the loss where that can be:
  // nothing is kept for them, and they go on reading what the loss reads.
  bool is_backward(NodeId id) const {
    const Node& node = graph_.node(id);
    return part_of_step(node.origin.phase) == StepPart::backward && node.op != Op::linear_cross_entropy_backward;
  }
  bool is_forward(ValueId value) const {
    const Node* producer = graph_.producer(value);
    return producer != nullptr && producer->op != Op::constant &&
           part_of_step(producer->origin.phase) == StepPart::forward;
  }
  bool is_cheap(NodeId id) const {
    const OpKind kind = op_def(graph_.node(id).op).kind;
    return kind == OpKind::pointwise || kind == OpKind::view || kind == OpKind::source;
  }
  int64_t bytes(ValueId value) const { return graph_.type(value).bytes(); }

  void note_saved(ValueId value, NodeId reader) {
    const ValueId block = layouts_.block(value);
    if (!is_forward(block)) return;
    Saved& saved = saved_[block];
    saved.values.insert(value);
    if (!saved.before.valid() || position_[index(reader)] < position_[index(saved.before)]) saved.before = reader;
  }

  void add_to_slice(ValueId value, ValueId wanted, Slice& slice, std::set<NodeId>& seen) const {
    const ValueId block = layouts_.block(value);
    const bool stop = block != wanted && saved_.contains(block);
    const NodeId producer = graph_.value(value).producer;
    if (stop || !is_forward(value) || !is_cheap(producer)) {
      if (!is_free_source(graph_, value)) slice.sources.insert(block);
      return;
    }
    if (!seen.insert(producer).second) return;
    if (seen.size() > kMaxSlice) slice.complete = false;
    if (!slice.complete) return;
    for (const ValueId operand : graph_.node(producer).inputs)
      if (operand.valid()) add_to_slice(operand, wanted, slice, seen);
    slice.nodes.push_back(producer);
  }

  // Whether a node's value may stay inside a kernel.
  bool is_joined(NodeId id) const { return is_cheap(id) || op_def(graph_.node(id).op).kind == OpKind::reduction; }

  void find_read_by_maps() {
    read_by_maps_.assign(static_cast<size_t>(graph_.value_limit()), false);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id)
      for (const ValueId value : graph_.node(*id).outputs)
        read_by_maps_[static_cast<size_t>(value.index)] =
            !graph_.is_output(value) && std::ranges::all_of(graph_.value(value).uses, [&](const Use& use) {
              const bool is_view = op_def(graph_.node(use.node).op).kind == OpKind::view;
              return is_view ? is_read_by_maps(graph_.node(use.node).outputs[0]) : is_joined(use.node);
            });
  }
  bool is_read_by_maps(ValueId value) const { return read_by_maps_[static_cast<size_t>(value.index)]; }

  bool pays(ValueId block, const Slice& slice) const {
    int64_t added = 0, read = 0;
    bool stored = true;  // in any case
    for (const ValueId source : slice.sources) {
      read += bytes(source);
      if (!is_forward(source) || saved_.contains(source)) continue;
      added += bytes(source);
      stored = stored && !is_joined(graph_.value(source).producer);
    }
    const int64_t slack = bytes(block) / kSlack;
    if (added < bytes(block) - slack) return true;
    return stored && added <= bytes(block) + slack && read <= bytes(block) + slack && is_read_by_maps(block);
  }

  void decide(ValueId block) {
    const NodeId producer = graph_.value(block).producer;
    if (!is_cheap(producer) || is_free_source(graph_, block)) return;
    Slice slice;
    std::set<NodeId> seen;
    add_to_slice(block, block, slice, seen);
    for (const ValueId value : saved_.at(block).values)
      if (value != block) add_to_slice(value, block, slice, seen);
    if (!slice.complete || !pays(block, slice)) return;
    const Saved saved = saved_.at(block);
    saved_.erase(block);
    for (const NodeId id : slice.nodes)
      for (const ValueId operand : graph_.node(id).inputs)
        if (operand.valid() && is_forward(operand) && slice.sources.contains(layouts_.block(operand)))
          note_saved(operand, saved.before);
    made_.push_back({slice.nodes, {saved.values.begin(), saved.values.end()}, saved.before});
  }

  // Copies the slice in front of its first reader; the backward reads the copies.
  void apply(const Recomputation& recomputation) {
    std::map<ValueId, ValueId> copies;
    for (const NodeId id : recomputation.slice) {
      const Node& source = graph_.node(id);
      Node copy{source.op, source.inputs, {}, source.attrs, source.origin, nullptr, nullptr};
      copy.origin.phase = Phase::recompute;
      for (ValueId& operand : copy.inputs)
        if (const auto made = copies.find(operand); made != copies.end())
          operand = made->second;
        else if (const auto known = recomputed_.find(operand); known != recomputed_.end())
          operand = known->second;
      std::vector<Type> types;
      for (const ValueId output : source.outputs) types.push_back(graph_.type(output));
      const NodeId made = graph_.insert(std::move(copy), std::move(types), recomputation.before);
      for (size_t i = 0; i < source.outputs.size(); ++i) copies[source.outputs[i]] = graph_.node(made).outputs[i];
    }
    for (const ValueId value : recomputation.values) {
      const ValueId copy = copies.at(value);
      recomputed_[value] = copy;
      graph_.set_name(copy, graph_.value(value).name);
      const std::vector<Use> uses = graph_.value(value).uses;
      for (const Use& use : uses)
        if (is_backward(use.node)) graph_.set_operand(use.node, static_cast<size_t>(use.operand), copy);
    }
  }

  Graph& graph_;
  const Layouts layouts_;
  const std::vector<NodeId> order_;
  std::vector<size_t> position_;           // per node index
  std::vector<bool> read_by_maps_;         // per value: every reader could be one kernel with its producer
  std::map<ValueId, Saved> saved_;         // by block
  std::vector<Recomputation> made_;        // later values first
  std::map<ValueId, ValueId> recomputed_;  // forward value → its copy
};

bool run(Graph& graph, PassContext& context) {
  if (context.options.fuse != FuseLevel::full) return false;
  bool changed = false;
  while (Recomputer(graph).run()) changed = true;  // what is saved less may be what another block leaned on
  return changed;
}

constexpr Fact kRefuses[] = {Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_recompute_cheap;
const Pass pass_recompute_cheap{
    .name = "recompute-cheap",
    .summary = "makes cheap values of the forward again in the backward instead of saving them",
    .contract = {.refuses = kRefuses, .breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
