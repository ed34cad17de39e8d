#include "passes/runner.h"

#include "ir/layout.h"
#include "ir/op_def.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "ir/verifier.h"
#include "passes/analysis/saved.h"

#include <algorithm>
#include <bitset>
#include <chrono>

namespace stepc {
namespace {

using Facts = std::bitset<kFactCount>;

Facts facts_of(std::span<const Fact> list) {
  Facts facts;
  for (const Fact fact : list) facts.set(static_cast<size_t>(fact));
  return facts;
}

std::string names_of(const Facts& facts) {
  std::string text;
  for (size_t i = 0; i < kFactCount; ++i) {
    if (!facts[i]) continue;
    text += text.empty() ? "" : ", ";
    text += fact_name(static_cast<Fact>(i));
  }
  return text;
}

// The facts that the graph itself shows.
Facts facts_of(const Graph& graph) {
  Facts facts;
  const auto note = [&](Fact fact) { facts.set(static_cast<size_t>(fact)); };
  for (const GraphOutput& output : graph.outputs()) {
    if (output.role == OutputRole::loss) note(Fact::has_loss);
    if (output.role == OutputRole::gradient) note(Fact::has_backward);
  }
  for (const StatePair& state : graph.states())
    if (graph.input_of(state.input)->role == InputRole::weight) note(Fact::has_optimizer);
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.origin.phase == Phase::backward) note(Fact::has_backward);
    if (node.op == Op::fused) note(Fact::has_fused);
  }
  return facts;
}

// What the contracts of a pipeline's passes allow, as it runs.
class ContractChecker {
 public:
  void before(const Pass& pass, const Graph& graph) const {
    const Facts facts = facts_of(graph) | history_;
    if (const Facts missing = facts_of(pass.contract.needs) & ~facts; missing.any())
      user_error("pass {} needs a graph that {}", pass.name, names_of(missing));
    if (const Facts present = facts_of(pass.contract.refuses) & facts; present.any())
      user_error("pass {} refuses a graph that already {}", pass.name, names_of(present));
    for (const Pass* earlier : ran_)
      if (std::ranges::count(earlier->contract.forbids_after, pass.name) > 0)
        user_error("pass {} may not run after {}", pass.name, earlier->name);
  }

  void after(const Pass& pass, bool changed, PassContext& context) {
    ran_.push_back(&pass);
    if (changed) history_ &= ~facts_of(pass.contract.breaks);
    history_ |= facts_of(pass.contract.provides);
    if (!holds(Fact::planned)) context.plan.reset();
  }

  bool holds(Fact fact) const { return history_[static_cast<size_t>(fact)]; }

 private:
  Facts history_;
  std::vector<const Pass*> ran_;
};

void measure(const Graph& graph, const PassContext& context, PassRow& row) {
  row.nodes = static_cast<int64_t>(graph.node_count());
  const Layouts layouts(graph);
  double predicted = 0;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op == Op::constant || layouts.is_alias(node)) continue;
    const Cost cost = node_cost(graph, node);
    ++row.kernels;
    row.flops += cost.flops;
    row.traffic_bytes += cost.read_bytes + cost.write_bytes;
    predicted += predicted_us(graph, node, context.device);
  }
  row.predicted_step_us = predicted;
  if (facts_of(graph)[static_cast<size_t>(Fact::has_backward)]) {
    const SavedListing listing = saved_tensors(graph, layouts);
    row.saved_tensors = static_cast<int64_t>(listing.saved.size());
    row.saved_bytes = listing.new_bytes();
  }
  if (context.plan) row.planned_peak_bytes = context.plan->peak_bytes();
}

// The pipeline after --stop-after, --skip; --bisect is decided as it runs.
std::vector<const Pass*> select(std::span<const Pass* const> pipeline, const RunnerOptions& options) {
  size_t end = pipeline.size();
  if (!options.stop_after.empty()) {
    while (end > 0 && pipeline[end - 1]->name != options.stop_after) --end;
    if (end == 0) user_error("--stop-after {}: no such pass in the pipeline", options.stop_after);
  }
  for (const std::string& name : options.skip) {
    const auto found = std::ranges::find(pipeline, name, [](const Pass* pass) { return pass->name; });
    if (found == pipeline.end()) user_error("--skip {}: no such pass in the pipeline", name);
    if ((*found)->contract.required) user_error("--skip {}: the step means nothing without this pass", name);
  }
  std::vector<const Pass*> selected;
  for (const Pass* pass : pipeline.first(end))
    if (!options.skip.contains(std::string(pass->name))) selected.push_back(pass);
  return selected;
}

// A graph that a pass broke is our bug: the message names the pass.
void verify_after(const Pass& pass, const Graph& graph, bool scheduled) {
  try {
    scheduled ? verify_scheduled(graph) : verify(graph);
  } catch (const InternalError& error) {
    throw InternalError(fmt::format("pass {} left a broken graph: {}", pass.name, error.what()));
  }
}

bool run_one(const Pass& pass, Graph& graph, PassContext& context, const RunnerOptions& options, PassRow& row) {
  const std::string before = options.check_changed ? print(graph) : std::string();
  const auto start = std::chrono::steady_clock::now();
  row.name = pass.name;
  row.changed = pass.run(graph, context);
  row.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  row.notes = std::exchange(context.notes, {});
  if (options.check_changed)
    CHECK(row.changed == (before != print(graph)), "pass {} answered changed={}", pass.name, row.changed);
  return row.changed;
}

}  // namespace

std::string_view fact_name(Fact fact) {
  switch (fact) {
    case Fact::has_loss: return "has a loss";
    case Fact::has_backward: return "has a backward";
    case Fact::has_optimizer: return "has an optimizer";
    case Fact::has_fused: return "has fused nodes";
    case Fact::scheduled: return "is scheduled";
    case Fact::planned: return "is planned";
  }
  return {};
}

std::vector<PassRow> run_passes(Graph& graph, std::span<const Pass* const> pipeline, PassContext& context,
                                const RunnerOptions& options) {
  std::vector<PassRow> rows;
  ContractChecker contracts;
  int64_t changes = 0;
  for (const Pass* pass : select(pipeline, options)) {
    if (!pass->contract.required && options.bisect && changes >= *options.bisect) continue;
    contracts.before(*pass, graph);
    PassRow row;
    const bool changed = run_one(*pass, graph, context, options, row);
    changes += changed && !pass->contract.required ? 1 : 0;
    contracts.after(*pass, changed, context);
    if (options.verify) verify_after(*pass, graph, contracts.holds(Fact::scheduled));
    if (options.measure) measure(graph, context, row);
    rows.push_back(std::move(row));
    if (options.dump) options.dump(graph, pass->name, rows.size() - 1);
  }
  return rows;
}

}  // namespace stepc
