// multi-tensor: puts equal updates of many small parameters into one launch, and the sums of their squares likewise.
//
//   %p', %m', %v' = fused %g, %p, %m, %v, %s {...}         %p', %m', %v', %q', %n', %w' = fused %g, ..., %h, ... {
//   %q', %n', %w' = fused %h, %q, %n, %w, %s {...}    ->     both bodies, one after the other
//                                                          }
//
// The bodies have nothing in common but numbers, so the kernel runs them as parts, each over its own space and in its
// own order: no bit changes (ir/body_parts.h). A large parameter stays alone: its gradient is freed as soon as it is
// consumed, and its launch costs nothing beside its bytes. Small gradients wait for the last of their group, so a group
// takes few bytes. Near-linear.

#include "ir/body_parts.h"
#include "ir/builder.h"
#include "ir/kernel.h"
#include "ir/op_def.h"
#include "passes/fusion/outline.h"
#include "passes/memory/raised_peak.h"
#include "passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace stepc {
namespace {

// A tensor that takes less time than a launch.
constexpr int64_t kSmallBytes = 1 << 16;
// What the parameters of one group take at most.
constexpr int64_t kGroupBytes = 1 << 18;

bool is_update(const Graph& graph, NodeId id) { return graph.node(id).origin.phase == Phase::optimizer; }

// Numbers of the update that come from numbers alone, as a learning rate with its warm-up and Adam's corrections for
// the step do: no member of a group makes them.
std::set<ValueId> numbers_of_update(const Graph& graph) {
  std::set<ValueId> numbers;
  const auto is_number = [&](ValueId v) {
    if (!v.valid() || graph.shape(v).numel() > 1) return !v.valid();
    const NodeId producer = graph.value(v).producer;
    return !producer.valid() || !is_update(graph, producer) || numbers.contains(v);
  };
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    const auto single = [&](ValueId v) { return graph.shape(v).numel() <= 1; };
    if (is_update(graph, id) && std::ranges::all_of(node.inputs, is_number) &&
        std::ranges::all_of(node.outputs, single))
      numbers.insert(node.outputs.begin(), node.outputs.end());
  }
  return numbers;
}

// `last`: nobody reads it. `first`: it reads nothing of the update but such numbers. Members of one group thus never
// depend on each other.
enum class Place : uint8_t { last, first, neither };

Place place_of(const Graph& graph, NodeId id, const std::set<ValueId>& numbers) {
  const Node& node = graph.node(id);
  if (std::ranges::all_of(node.outputs, [&](ValueId v) { return graph.value(v).uses.empty(); })) return Place::last;
  const auto from_update = [&](ValueId v) {
    const NodeId producer = graph.value(v).producer;
    return producer.valid() && is_update(graph, producer) && graph.node(producer).op != Op::constant &&
           !numbers.contains(v);
  };
  return std::ranges::none_of(node.inputs, from_update) ? Place::first : Place::neither;
}

bool is_small(const Graph& graph, const Node& node) {
  const auto small = [&](ValueId v) { return v.valid() && graph.type(v).bytes() <= kSmallBytes; };
  return std::ranges::all_of(node.inputs, small) && std::ranges::all_of(node.outputs, small);
}

// What one group has in common: the kind of its kernels, which parts must share (ir/kernel.h), and the operations in
// order. Attributes and operands may differ, as shapes do: parts have nothing to do with each other.
struct Likeness {
  KernelKind kind{};
  std::string operations;
  auto operator<=>(const Likeness&) const = default;
};

std::string operations_of(const Graph& graph, const Node& node) {
  if (node.op != Op::fused) return fmt::format("{} {};", op_name(node.op), dtype_name(graph.dtype(node.outputs[0])));
  std::string text;
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
    text += operations_of(*node.body, node.body->node(id));
  return text;
}

class Grouper {
 public:
  explicit Grouper(Graph& graph) : graph_(graph) {}

  bool run() {
    bool changed = false;
    for (const Place place : {Place::first, Place::last})
      for (const auto& [likeness, members] : candidates(place))
        for (const std::vector<NodeId>& group : groups(members))
          if (group.size() > 1) changed = true, join(group);
    return changed;
  }

 private:
  // Members in the graph's order.
  std::map<Likeness, std::vector<NodeId>> candidates(Place place) const {
    const Layouts layouts(graph_);
    const std::set<ValueId> numbers = numbers_of_update(graph_);
    std::map<Likeness, std::vector<NodeId>> result;
    std::set<ValueId> taken;  // operands that no other part may read
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
      const Node& node = graph_.node(id);
      if (!is_update(graph_, id) || !is_small(graph_, node) || place_of(graph_, id, numbers) != place) continue;
      const std::optional<KernelKind> kind = kind_of_part(id, layouts);
      if (!kind) continue;
      std::vector<ValueId> tensors;
      std::ranges::copy_if(node.inputs, std::back_inserter(tensors),
                           [&](ValueId v) { return graph_.shape(v).numel() > 1; });
      if (tensors.empty() || std::ranges::any_of(tensors, [&](ValueId v) { return taken.contains(v); })) continue;
      taken.insert(tensors.begin(), tensors.end());
      result[{*kind, operations_of(graph_, node)}].push_back(id);
    }
    return result;
  }

  int64_t parameter_bytes(NodeId id) const {
    int64_t bytes = 0;
    for (const ValueId operand : graph_.node(id).inputs)
      if (operand.valid()) bytes = std::max(bytes, graph_.type(operand).bytes());
    return bytes;
  }

  std::vector<std::vector<NodeId>> groups(const std::vector<NodeId>& members) const {
    std::vector<std::vector<NodeId>> result;
    int64_t taken = 0;  // by the last group
    for (const NodeId id : members) {
      const int64_t bytes = parameter_bytes(id);
      if (result.empty() || taken + bytes > kGroupBytes) taken = 0, result.emplace_back();
      taken += bytes;
      result.back().push_back(id);
    }
    return result;
  }

  // Of a loop nest without scratch: such a node can be a part.
  std::optional<KernelKind> kind_of_part(NodeId id, const Layouts& layouts) const {
    const OpKind kind = op_def(graph_.node(id).op).kind;
    if (kind != OpKind::fused && kind != OpKind::pointwise && kind != OpKind::reduction) return std::nullopt;
    if (why_no_kernel(graph_, id, layouts_of(layouts))) return std::nullopt;
    const Kernel kernel = describe_kernel(graph_, id, layouts_of(layouts));
    const bool nest = kernel.kind == KernelKind::map || kernel.kind == KernelKind::row_reduction;
    return nest && kernel.scratch_bytes == 0 ? std::optional(kernel.kind) : std::nullopt;
  }

  // One fused node for all members, after everything that does not wait for it.
  void join(const std::vector<NodeId>& members) {
    const std::vector<NodeId> readers = dependents_of(members);
    Graph body;
    std::map<ValueId, ValueId> inputs;  // of the body, by operand
    std::vector<ValueId> operands, replaced;
    for (const NodeId id : members) {
      for (const ValueId operand : graph_.node(id).inputs)
        if (!inputs.contains(operand)) {
          inputs[operand] = body.add_input(graph_.type(operand), InputRole::data, fmt::format("a{}", operands.size()));
          operands.push_back(operand);
        }
      for (const ValueId made : append(body, id, inputs))
        body.add_output(made, OutputRole::output, fmt::format("r{}", body.outputs().size()));
      replaced.insert(replaced.end(), graph_.node(id).outputs.begin(), graph_.node(id).outputs.end());
    }
    const NodeId joint = Builder(graph_, merged_origin(graph_, members)).make_fused(operands, std::move(body));
    for (size_t i = 0; i < replaced.size(); ++i) {
      const ValueId replacement = graph_.node(joint).outputs[i];
      graph_.set_name(replacement, graph_.value(replaced[i]).name);
      graph_.replace_uses(replaced[i], replacement);
    }
    for (const NodeId id : members) graph_.erase(id);
    for (const NodeId id : readers) graph_.move_before(id, kNoNode);
  }

  // What a member computes, in the body; its results there.
  std::vector<ValueId> append(Graph& body, NodeId member, const std::map<ValueId, ValueId>& inputs) const {
    const Node& node = graph_.node(member);
    std::map<ValueId, ValueId> inside = inputs;
    std::vector<ValueId> results;
    if (node.op != Op::fused) {
      copy_into(body, graph_, member, inside);
      for (const ValueId output : node.outputs) results.push_back(inside.at(output));
      return results;
    }
    inside.clear();
    for (size_t i = 0; i < node.inputs.size(); ++i) inside[node.body->inputs()[i].value] = inputs.at(node.inputs[i]);
    for (const NodeId id : node.body->order()) copy_into(body, *node.body, id, inside);
    for (const GraphOutput& output : node.body->outputs()) results.push_back(inside.at(output.value));
    return results;
  }

  // Nodes that read what the members make, directly or not, in order.
  std::vector<NodeId> dependents_of(const std::vector<NodeId>& members) const {
    std::set<NodeId> reached(members.begin(), members.end());
    std::vector<NodeId> result;
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) {
      const auto waits = [&](ValueId v) { return v.valid() && reached.contains(graph_.value(v).producer); };
      if (std::ranges::any_of(graph_.node(id).inputs, waits) && reached.insert(id).second) result.push_back(id);
    }
    return result;
  }

  Graph& graph_;
};

bool run(Graph& graph, PassContext& context) {
  if (context.options.fuse == FuseLevel::off) return false;
  const int64_t before = scheduled_peak(graph);
  if (!Grouper(graph).run()) return false;
  note_raised_peak(graph, before, context);
  return true;
}

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_multi_tensor;
const Pass pass_multi_tensor{
    .name = "multi-tensor",
    .summary = "updates many small parameters in one launch",
    .contract = {.breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
