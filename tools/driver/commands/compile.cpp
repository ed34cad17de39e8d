#include "ir/support/error.h"
#include "models/atomic_file.h"
#include "tools/driver/commands.h"
#include "tools/driver/compiled_folder.h"
#include "tools/driver/memory_check.h"
#include "tools/driver/model.h"
#include "tools/driver/precision_report.h"
#include "tools/driver/report.h"
#include "tools/driver/step.h"
#include "tools/driver/target_code.h"
#include "tools/driver/text_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("MODEL", options.model, ".onnx file, zoo name or .ir text")->type_name("");
  app.add_option("-o", options.output, "for graph.ir, plan.json, report.json, kernels/ and weights.safetensors")
      ->type_name("DIR");
  app.add_flag("--plan-only", options.plan_only, "stop before kernels are compiled");
  add_model_options(app, options);
  add_step_options(app, options);
  add_pass_options(app, options);
  add_output_options(app, options);
}

int run(const DriverOptions& options) {
  if (!options.plan_only) refuse_precision_of_other_targets(options);
  std::optional<CompiledFolder> folder;
  if (!options.output.empty()) folder.emplace(options.output);
  if (!options.json.empty() && options.json != "-") check_writable(options.json);
  Model model = load_model(options, MissingWeights::none);
  const std::unique_ptr<LibraryScratch> scratch = library_scratch(options);
  const Step step = build_step(model, options, scratch.get());
  Report report{.options = options, .model = model, .step = &step};
  const std::optional<CompiledCode> code = step.plan ? compile_code(step, options) : std::nullopt;
  if (code) report.kernels = code->rows;
  if (code && code->built) {
    report.compile_us = code->built->compile_us;
    report.cache_hits = code->built->cache_hits;
  }
  if (folder) folder->write(report, code ? code->files : std::vector<CompiledCode::File>{});
  if (!options.json.empty()) write_json(options.json, report_json(report));
  if (options.quiet || options.json == "-") return 0;
  for (const std::string& note : model.import.notes) fmt::print("note: {}\n", note);
  if (const std::string note = gpu_memory_note(step, options); !note.empty()) fmt::print("note: {}\n", note);
  fmt::print("{}\n{}", pass_table(step), memory_table(step));
  if (options.train.precision != Precision::fp32 && step.plan)
    fmt::print("{}", precision_text(precision_report(step), options.train.precision));
  fmt::print("\nsaved for the backward\n{}", saved_table(step.saved, options.verbose ? step.saved.saved.size() : 20));
  if (code && code->built)
    fmt::print("\n{} launches of {} distinct generated kernels in {} translation units ({} from the cache), {}\n",
               code->launches, code->functions, code->built->units, code->built->cache_hits,
               format_us(code->built->compile_us));
  return 0;
}

}  // namespace

extern const Command command_compile;
const Command command_compile{"compile", "compiles the training step and prints the pass report", declare, run};

}  // namespace stepc
