#include "ir/support/error.h"
#include "models/atomic_file.h"
#include "tools/driver/backend.h"
#include "tools/driver/commands.h"
#include "tools/driver/compiled_folder.h"
#include "tools/driver/data.h"
#include "tools/driver/export_weights.h"
#include "tools/driver/io/safetensors.h"
#include "tools/driver/memory_check.h"
#include "tools/driver/model.h"
#include "tools/driver/precision_report.h"
#include "tools/driver/progress.h"
#include "tools/driver/report.h"
#include "tools/driver/session.h"
#include "tools/driver/step.h"
#include "tools/driver/target_code.h"
#include "tools/driver/text_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("MODEL", options.model, ".onnx file, zoo name, .ir text, or a folder that compile wrote")
      ->type_name("");
  add_run_options(app, options);
  add_model_options(app, options);
  add_step_options(app, options);
  add_pass_options(app, options);
  add_output_options(app, options);
}

StepTime summary(std::vector<double> times_us) {
  std::ranges::sort(times_us);
  const size_t n = times_us.size();
  return {times_us.front(), (times_us[(n - 1) / 2] + times_us[n / 2]) / 2, times_us.back()};
}

void run_steps(Session& session, Backend& backend, const DriverOptions& options, const Graph& graph) {
  std::vector<double> times_us;
  int64_t profiled = 0;
  Progress progress(options, options.warmup + options.steps);
  for (int64_t i = 0; i < options.warmup + options.steps; ++i) {
    if (i == options.warmup) profiled = backend.start_timing(options.steps);
    const auto begin = std::chrono::steady_clock::now();
    session.run_step();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (i >= options.warmup) times_us.push_back(took.count());
    progress.step(i + 1, session.figures());
  }
  progress.finish();
  if (times_us.empty()) return;
  if (profiled < options.steps) times_us.erase(times_us.begin(), times_us.begin() + profiled);
  RunFigures& figures = session.figures();
  figures.time = summary(times_us);
  if (const std::optional<int64_t> tokens = token_positions(graph))
    figures.tokens_per_s = static_cast<double>(*tokens * options.train.accumulate) / (figures.time->median_us * 1e-6);
  figures.measured_peak_bytes = backend.measured_peak_bytes();
  figures.fixed_bytes = backend.fixed_bytes();
}

std::string ending(const std::string& path) { return std::filesystem::path(path).extension().string(); }

// What would fail after the last step fails before the first.
void check_files(const DriverOptions& options) {
  if (!options.save.empty() && ending(options.save) != ".safetensors" && ending(options.save) != ".onnx")
    user_error("--save {}: expected a name that ends in .safetensors or .onnx", options.save);
  for (const std::string& path : {options.save, options.outputs, options.dump_weights, options.json})
    if (!path.empty() && path != "-") check_writable(path);
  if (!options.resume.empty()) const SafetensorsFile resumed(options.resume);
}

// The step in a compiled folder is what it is: options that would have made another one are not ignored.
void refuse_options_of_compile(const DriverOptions& options) {
  constexpr std::array<std::string_view, 16> kOfRun = {
      "--data",    "--token-dtype", "--steps", "--warmup", "--save", "--resume", "--outputs", "--dump-weights",
      "--weights", "--threads",     "--seed",  "--target", "--json", "--quiet",  "--verbose", "--progress"};
  for (const std::string& name : options.given)
    if (std::ranges::find(kOfRun, name) == kOfRun.end())
      throw UsageError(
          fmt::format("{}: the step in {} is compiled already; give it to stepc compile", name, options.model));
}

void save(const DriverOptions& options, const Model& model, const Session& session) {
  if (ending(options.save) == ".onnx")
    export_weights(options, model, session, options.save);
  else
    session.save(options.save);
}

void print_run(const RunFigures& figures, const std::vector<KernelRow>& kernels, const DriverOptions& options) {
  if (!figures.losses.empty())
    fmt::print("loss {:.4f} -> {:.4f} over {} steps\n", figures.losses.front(), figures.losses.back(),
               figures.losses.size());
  if (!figures.loss_scales.empty())
    fmt::print("loss scale {:g} -> {:g}, {} of {} steps skipped\n", figures.loss_scales.front(),
               figures.loss_scales.back(), figures.skipped_steps.size(), figures.loss_scales.size());
  if (figures.time) {
    fmt::print("step {} (min {}, max {})", format_us(figures.time->median_us), format_us(figures.time->min_us),
               format_us(figures.time->max_us));
    if (figures.tokens_per_s) fmt::print(", {:.0f} tokens/s", *figures.tokens_per_s);
    fmt::print("\n");
  }
  if (figures.measured_peak_bytes)
    fmt::print("measured peak {} (arena and persistent region)\n", format_bytes(*figures.measured_peak_bytes));
  if (figures.fixed_bytes)
    fmt::print("with the fixed part {} (libraries' own memory {}, by growth of the resident set)\n",
               format_bytes(figures.measured_peak_bytes.value_or(0) + *figures.fixed_bytes),
               format_bytes(*figures.fixed_bytes));
  if (!kernels.empty()) fmt::print("\nprofile\n{}", kernel_table(kernels, options.verbose ? kernels.size() : 25));
}

// Everything that could stop the run later is found here, before kernels are compiled or memory is taken.
void check_run(const CompiledStep& loaded, const DriverOptions& options, const DataSource& data) {
  if (!loaded.step.plan) user_error("--stop-after {}: the step is not complete, so it cannot run", options.stop_after);
  if (!loaded.model.can_run() && options.resume.empty())
    user_error("{} has shapes only; give --weights random:SEED or --resume FILE", loaded.model.name);
  if (ending(options.save) == ".onnx" && loaded.model.source != "onnx" && loaded.model.source != "zoo")
    user_error("--save {}: {} did not come from ONNX; save to a .safetensors file", options.save, options.model);
  require_memory(loaded.step, options);
  data.check(loaded.step.graph, options.train.loss);
}

int run(const DriverOptions& given) {
  const bool compiled = std::filesystem::is_directory(given.model);
  if (compiled) refuse_options_of_compile(given);
  const DriverOptions options = compiled ? with_compiled_options(given) : given;
  if (options.warmup + options.steps == 0) user_error("--steps 0 --warmup 0: there is nothing to run");
  check_files(options);
  const std::unique_ptr<DataSource> data = open_data(options);
  const std::unique_ptr<LibraryScratch> scratch = library_scratch(options);
  CompiledStep loaded = compiled ? read_compiled(options, scratch.get())
                                 : compile_step(load_model(options, MissingWeights::random, data->input_shapes()),
                                                options, scratch.get());
  check_run(loaded, options, *data);
  std::optional<SavedRun> saved;
  if (!options.resume.empty()) saved.emplace(options.resume, loaded.step.graph);

  const bool quiet = options.quiet || options.json == "-";
  if (!quiet) {
    for (const std::string& note : loaded.model.import.notes) fmt::print("note: {}\n", note);
    fmt::print("{}\n{}", pass_table(loaded.step), memory_table(loaded.step));
    if (options.train.precision != Precision::fp32)
      fmt::print("{}", precision_text(precision_report(loaded.step), options.train.precision));
    fmt::print("\nsaved for the backward\n{}", saved_table(loaded.step.saved, options.verbose ? 1000000 : 12));
    fmt::print("\ndata: {}\n", data->describe());
  }
  Report report{.options = options, .model = loaded.model, .step = &loaded.step};
  const std::unique_ptr<Backend> backend = make_backend(loaded.step, options, report);
  if (!quiet)
    for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
  Session session(loaded.model, loaded.step, *backend, *data, options.train.accumulate);
  if (saved)
    session.resume(*saved);
  else
    session.initialize(options.seed);
  run_steps(session, *backend, options, loaded.step.graph);

  report.run = session.figures();
  report.kernels = backend->kernels();
  if (!options.save.empty()) save(options, loaded.model, session);
  if (!options.outputs.empty()) session.write_outputs(options.outputs);
  if (!options.dump_weights.empty()) session.write_weights(options.dump_weights);
  if (!options.json.empty()) write_json(options.json, report_json(report));
  if (!quiet) print_run(session.figures(), report.kernels, options);
  return 0;
}

}  // namespace

extern const Command command_run;
const Command command_run{"run", "runs training steps and prints the profile", declare, run};

}  // namespace stepc
