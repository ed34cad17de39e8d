#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/support/error.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "tests/filetest/filetest.h"

namespace stepc::filetest {
namespace {

// Settings of the file are options of the step: loss="sum" logits="y" labels="t" shift="on" optimizer="sgd:lr=0.1"
// grad_inputs="*" clip_norm="1" grad_norm="off" accumulate="4" keep_outputs="on" fuse="off".
TrainOptions options_of(const File& file) {
  TrainOptions options;
  options.optimizer.kind = OptimizerKind::none;
  options.want_grad_norm = false;
  for (const auto& [key, value] : file.settings) {
    if (key == "passes") continue;
    if (key == "loss")
      options.loss.kind = parse_loss_kind(value);
    else if (key == "logits")
      options.loss.logits = value;
    else if (key == "labels")
      options.loss.labels = value;
    else if (key == "shift")
      options.loss.shift = value == "on";
    else if (key == "optimizer")
      options.optimizer = parse_optimizer(value);
    else if (key == "grad_inputs")
      options.grad_inputs = value;
    else if (key == "clip_norm")
      options.clip_norm = std::stod(value);
    else if (key == "grad_norm")
      options.want_grad_norm = value == "on";
    else if (key == "accumulate")
      options.accumulate = std::stoll(value);
    else if (key == "keep_outputs")
      options.keep_outputs = value == "on";
    else if (key == "fuse")
      options.fuse = parse_fuse_level(value);
    else
      user_error("{}: unknown setting {}", file.path.string(), key);
  }
  return options;
}

}  // namespace

// The graph after the passes, then their notes as comments; or the error that refuses the graph. Each pass's answer
// "changed" is compared with the text.
std::string run_passes_kind(const File& file, const Case& test) {
  const TrainOptions options = options_of(file);
  PassContext context(options);
  Graph graph = parse(test.input);
  std::string notes;
  try {
    for (const PassRow& row :
         run_passes(graph, parse_pipeline(file.setting("passes")), context, RunnerOptions{.check_changed = true}))
      for (const std::string& note : row.notes) notes += fmt::format("; {}: {}\n", row.name, note);
  } catch (const UserError& error) {
    return fmt::format("; error: {}\n", error.what());
  }
  return print(graph) + notes;
}

}  // namespace stepc::filetest
