// copy-weights: the 16-bit copy of a weight that products read becomes state, which the weight's update writes.
//
//   %w16 = cast %w {to=bf16}                          input state "bf16/w" initializer "w" %w16
//   ... contraction %x, %w16              ->          ... contraction %x, %w16
//   state %w -> %new                                  %new16 = cast %new {to=bf16} (phase optimizer)
//                                                     state %w -> %new, state %w16 -> %new16
//
// The update has the new weight at hand, so that the copy costs it two bytes per element to write; a cast in the
// forward would read four and write two, at every step. Copies of frozen weights are state that nothing writes.
// Vectors, which their readers round as they go, have none. Likewise a 16-bit gradient is widened by what reads it: its
// cast becomes part of the update, so that it waits in 16 bits. Without updates nothing changes: the step is a function
// of its weights.

#include "ir/builder.h"
#include "ir/op_def.h"
#include "passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stepc {
namespace {

bool is_updated(const Graph& graph) {
  return std::ranges::any_of(
      graph.states(), [&](const StatePair& state) { return graph.input_of(state.input)->role == InputRole::weight; });
}

bool is_product_operand(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.value(value).uses, [&](const Use& use) {
    const Node& reader = graph.node(use.node);
    const OpKind kind = op_def(reader.op).kind;
    if (kind == OpKind::view) return is_product_operand(graph, reader.outputs[0]);
    return kind == OpKind::contraction;
  });
}

// The casts of a weight to 16 bits, by dtype.
std::map<Dtype, std::vector<NodeId>> casts_of(const Graph& graph, const GraphInput& weight) {
  std::map<Dtype, std::vector<NodeId>> casts;
  for (const Use& use : graph.value(weight.value).uses) {
    const Node& reader = graph.node(use.node);
    const Dtype to = graph.dtype(reader.outputs[0]);
    const bool low = to == Dtype::bf16 || to == Dtype::f16;
    if (reader.op == Op::cast && low && reader.origin.phase != Phase::optimizer) casts[to].push_back(use.node);
  }
  return casts;
}

void keep_copy(Graph& graph, const GraphInput& weight, Dtype dtype, const std::vector<NodeId>& casts) {
  const ValueId copy = graph.add_input({dtype, graph.shape(weight.value)}, InputRole::state,
                                       fmt::format("{}/{}", dtype_name(dtype), weight.name), weight.name);
  for (const NodeId cast : casts) {
    graph.replace_uses(graph.node(cast).outputs[0], copy);
    graph.erase(cast);
  }
  const auto update = std::ranges::find(graph.states(), weight.value, &StatePair::input);
  if (update == graph.states().end()) return;
  const NodeId producer = graph.value(update->output).producer;
  Builder b(graph, graph.node(producer).origin, graph.next(producer));
  graph.add_state(copy, b.cast(update->output, dtype));
}

// Whether a node widens a gradient that updates alone read.
bool widens_gradient(const Graph& graph, const Node& node) {
  if (node.op != Op::cast || node.origin.phase != Phase::backward || graph.is_output(node.outputs[0])) return false;
  const auto in_update = [&](const Use& use) { return graph.node(use.node).origin.phase == Phase::optimizer; };
  const std::vector<Use>& uses = graph.value(node.outputs[0]).uses;
  return graph.dtype(node.outputs[0]) == Dtype::f32 && !uses.empty() && std::ranges::all_of(uses, in_update);
}

bool run(Graph& graph, PassContext& context) {
  if (!is_updated(graph)) return false;
  bool changed = false;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    if (!widens_gradient(graph, graph.node(id))) continue;
    graph.origin(id).phase = Phase::optimizer;
    changed = true;
  }
  int64_t copies = 0, bytes = 0;
  for (const GraphInput& weight : std::vector(graph.inputs())) {
    if (weight.role != InputRole::weight || graph.dtype(weight.value) != Dtype::f32) continue;
    for (const auto& [dtype, casts] : casts_of(graph, weight)) {
      const auto feeds_product = [&](NodeId cast) { return is_product_operand(graph, graph.node(cast).outputs[0]); };
      if (std::ranges::none_of(casts, feeds_product)) continue;
      keep_copy(graph, weight, dtype, casts);
      ++copies;
      bytes += graph.type(weight.value).bytes() * dtype_bytes(dtype) / dtype_bytes(Dtype::f32);
    }
  }
  if (copies > 0)
    context.note(
        fmt::format("copies of {} weights take {} bytes; with --skip copy-weights they are cast where they are read",
                    copies, bytes));
  return changed || copies > 0;
}

constexpr Fact kRefuses[] = {Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};
constexpr std::string_view kForbidsAfter[] = {"optimizer"};

}  // namespace

extern const Pass pass_copy_weights;
const Pass pass_copy_weights{
    .name = "copy-weights",
    .summary = "keeps the 16-bit copies of weights as state, written by the weights' updates",
    .contract = {.refuses = kRefuses, .breaks = kBreaks, .forbids_after = kForbidsAfter},
    .run = run,
};

}  // namespace stepc
