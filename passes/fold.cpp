// fold: evaluates what depends on constants alone.
//
//   %1 = constant [1, 2] : i64[2]            %3 = constant [2, 3] : i64[2]
//   %2 = constant [1, 1] : i64[2]      ->
//   %3 = add %1, %2 : i64[2]
//
// Evaluation is the reference interpreter's in the values' own dtypes, so a float constant carries one rounding per
// operation, which a run in f64 would not have made: hence the tolerance. Results over 65536 elements stay as they are,
// and so do iota and expand, which cost a kernel nothing and a constant memory.

#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

#include <algorithm>
#include <unordered_map>

namespace stepc {
namespace {

constexpr int64_t kMaxElements = 65536;

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  bool run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) evaluate(id);
    bool changed = false;
    for (const NodeId id : order)
      if (graph_.alive(id) && is_frontier(id)) {
        materialize(id);
        changed = true;
      }
    return changed;
  }

 private:
  bool known(ValueId value) const { return values_.contains(value.index); }

  void evaluate(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::random || node.op == Op::fused) return;
    if (!std::ranges::all_of(node.inputs, [&](ValueId input) { return !input.valid() || known(input); })) return;
    std::vector<RefTensor> results;
    for (const ValueId output : node.outputs) {
      if (graph_.shape(output).numel() > kMaxElements) return;
      results.emplace_back(graph_.type(output));
    }
    if (node.op == Op::constant) {
      results[0] = RefTensor(node.constant->view());
    } else {
      std::vector<const RefTensor*> operands;
      for (const ValueId input : node.inputs) operands.push_back(input.valid() ? &values_.at(input.index) : nullptr);
      try {
        evaluate_node(EvalArgs{node, operands, results, /*round_floats=*/true});
      } catch (const UserError&) {
        return;  // an index out of range: reported if the node ever runs
      }
    }
    for (size_t i = 0; i < results.size(); ++i) values_.emplace(node.outputs[i].index, std::move(results[i]));
  }

  // Known, not a source already, and read by something that is not known.
  bool is_frontier(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op == Op::constant || node.op == Op::iota || node.op == Op::expand) return false;
    return std::ranges::any_of(node.outputs, [&](ValueId output) {
      if (!known(output)) return false;
      if (graph_.is_output(output)) return true;
      return std::ranges::any_of(graph_.value(output).uses, [&](const Use& use) {
        const Node& reader = graph_.node(use.node);
        return !known(reader.outputs[0]) || reader.op == Op::expand;
      });
    });
  }

  void materialize(NodeId id) {
    const Node& node = graph_.node(id);
    Builder b(graph_, node.origin, id);
    for (const ValueId output : node.outputs) {
      if (!graph_.is_used(output)) continue;
      const ValueId constant = b.constant(values_.at(output.index).to_tensor());
      values_.emplace(constant.index, values_.at(output.index));
      graph_.set_name(constant, graph_.value(output).name);
      graph_.replace_uses(output, constant);
    }
    erase_if_dead(graph_, id);
  }

  Graph& graph_;
  std::unordered_map<int32_t, RefTensor> values_;
};

bool run(Graph& graph, PassContext&) { return Folder(graph).run(); }

constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_fold;
const Pass pass_fold{
    .name = "fold",
    .summary = "evaluates nodes that depend on constants alone",
    .contract = {.breaks = kBreaks, .preserves = Preserves::tolerance, .relative_tolerance = 1e-6},
    .run = run,
};

}  // namespace stepc
