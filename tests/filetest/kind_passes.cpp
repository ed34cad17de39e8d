#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "tests/corpus/agreement.h"
#include "tests/corpus/random_value.h"
#include "tests/filetest/filetest.h"

#include <array>
#include <optional>

namespace stepc::filetest {
namespace {

TrainOptions options_of(const File& file) {
  TrainOptions options;
  if (!file.setting("loss").empty()) options.loss.kind = parse_loss_kind(file.setting("loss"));
  options.loss.logits = file.setting("logits");
  options.loss.labels = file.setting("labels");
  options.loss.shift = file.setting("shift") == "true";
  if (!file.setting("optimizer").empty()) options.optimizer = parse_optimizer(file.setting("optimizer"));
  if (!file.setting("grad-inputs").empty()) options.grad_inputs = file.setting("grad-inputs");
  if (!file.setting("clip").empty()) options.clip_norm = std::stod(file.setting("clip"));
  if (!file.setting("accumulate").empty()) options.accumulate = std::stoll(file.setting("accumulate"));
  if (!file.setting("precision").empty()) options.precision = parse_precision(file.setting("precision"));
  if (!file.setting("fuse").empty()) options.fuse = parse_fuse_level(file.setting("fuse"));
  if (!file.setting("remat").empty()) options.remat = parse_remat(file.setting("remat"));
  options.keep_outputs = file.setting("keep-outputs") == "true";
  return options;
}

// Nothing where the graph cannot be run on such inputs: an index is out of range.
std::optional<corpus::Observed> observe(const Graph& graph, RefPrecision precision) {
  try {
    return corpus::observe(graph, corpus::random_values(graph), precision);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

// The text after the passes with their notes as comments, or the error that refuses the graph. Where the graph can be
// executed, common outputs and states before and after obey the contracts in both precisions; the passes say truthfully
// whether they changed something.
std::string run_passes_on_text(const File& file, const Case& test) {
  Graph graph = parse(test.input);
  const std::vector<const Pass*> pipeline = parse_pipeline(file.setting("passes"));
  std::array<std::optional<corpus::Observed>, 2> before;
  for (const RefPrecision precision : {RefPrecision::f32, RefPrecision::f64})
    before[static_cast<size_t>(precision)] = observe(graph, precision);

  const TrainOptions options = options_of(file);
  PassContext context(options);
  std::string notes;
  try {
    for (const PassRow& row : run_passes(graph, pipeline, context, {.measure = false, .check_changed = true}))
      for (const std::string& note : row.notes) notes += fmt::format("; {}: {}\n", row.name, note);
  } catch (const UserError& error) {
    return fmt::format("; error: {}\n", error.what());
  }

  for (const RefPrecision precision : {RefPrecision::f32, RefPrecision::f64}) {
    const std::optional<corpus::Observed>& old = before[static_cast<size_t>(precision)];
    if (!old) continue;
    const std::optional<corpus::Observed> now = observe(graph, precision);
    if (!now) user_error("the graph cannot be executed any more");
    const std::string breach = corpus::breach(corpus::promise_of(pipeline), graph, *old, *now);
    if (!breach.empty()) user_error("{}", breach);
  }
  const std::string text = print(graph);
  if (print(parse(text)) != text) user_error("the result does not read back:\n{}", text);
  return text + notes;
}

}  // namespace stepc::filetest
