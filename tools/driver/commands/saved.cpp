#include "passes/analysis/saved.h"
#include "ir/support/error.h"
#include "tools/driver/commands.h"
#include "tools/driver/model.h"
#include "tools/driver/report.h"
#include "tools/driver/step.h"
#include "tools/driver/text_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <limits>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("MODEL", options.model, ".onnx file, zoo name or .ir text")->type_name("");
  app.add_option("--stage", options.stage, "eager (what PyTorch would save) or compiled (default: what stepc keeps)")
      ->type_name("STAGE")
      ->check(CLI::IsMember({"eager", "compiled"}).description(""));
  add_model_options(app, options);
  add_step_options(app, options);
  add_pass_options(app, options);
  add_output_options(app, options);
  app.add_option_function<std::string>(
         "--diff", [](const std::string&) { throw CLI::ValidationError("--diff is not available yet"); })
      ->group("");
}

int run(const DriverOptions& options) {
  Model model = load_model(options, MissingWeights::none);
  Step step;
  if (options.stage == "eager") {
    step.saved = eager_saved_tensors(model.import.graph, options.train_options());
    step.graph = std::move(model.import.graph);
  } else {
    step = build_step(model, options, nullptr);
  }
  if (!options.json.empty()) write_json(options.json, report_json({.options = options, .model = model, .step = &step}));
  if (options.json != "-" && !options.quiet)
    fmt::print("{}", saved_table(step.saved, std::numeric_limits<size_t>::max()));
  return 0;
}

}  // namespace

extern const Command command_saved;
const Command command_saved{"saved", "lists the tensors kept for the backward, with their blocks and bytes", declare,
                            run};

}  // namespace stepc
