#include "ir/support/error.h"
#include "ir/support/quote.h"
#include "models/atomic_file.h"
#include "tools/driver/backend.h"
#include "tools/driver/commands.h"
#include "tools/driver/compiled.h"
#include "tools/driver/finite_differences.h"
#include "tools/driver/golden.h"
#include "tools/driver/memory_check.h"
#include "tools/driver/session.h"
#include "tools/driver/target_code.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace stepc {
namespace {

void declare(CLI::App& app, DriverOptions& options) {
  app.add_option("MODEL", options.model, ".onnx file, zoo name or .ir text")->type_name("");
  app.add_option("--golden", options.golden, "*_golden.npz: compare loss, outputs and gradients with it")
      ->type_name("FILE");
  app.add_option("--param-map", options.param_map, ".json: which initializer holds which golden parameter")
      ->type_name("FILE");
  add_data_options(app, options);
  add_model_options(app, options);
  add_step_options(app, options);
  add_pass_options(app, options);
  add_output_options(app, options);
}

// Gradients as outputs, and the loss that goldens are made with.
DriverOptions check_options(DriverOptions options, const std::optional<Golden>& golden) {
  options.train.optimizer.kind = OptimizerKind::none;
  options.train.accumulate = 1;
  options.keep_outputs = true;
  if (!golden) return options;
  options.data = options.golden;
  if (golden->has_input_gradients()) options.train.grad_inputs = "*";
  if (!golden->has_label() && options.train.loss.kind == LossKind::automatic)
    options.train.loss.kind = LossKind::mean_square;
  return options;
}

// What is computed in 16 bits differs by a few of their roundings, which reach each gradient likewise. TF32 rounds each
// operand of a product by 2^-11 of it, as fp16 does, and nothing else.
std::optional<Tolerance> low_tolerance(Precision precision, double largest) {
  if (precision == Precision::bf16) return Tolerance{2e-2 * largest, 2e-2};
  if (precision == Precision::fp16 || precision == Precision::tf32) return Tolerance{4e-3 * largest, 4e-3};
  return std::nullopt;
}

// Weights stored in 16 bits were rounded when they were stored, and the goldens are of the f32 ones: the rounding of
// all weights reaches each gradient, so the bound is relative to the largest gradient of the model.
Tolerance golden_tolerance(const ImportedModel& import, const Golden& golden, Precision precision) {
  if (const std::optional<Tolerance> low = low_tolerance(precision, golden.largest_gradient())) return *low;
  for (const Initializer& initializer : import.initializers) {
    if (!initializer.data) continue;
    if (initializer.data->type.dtype == Dtype::f16) return {2e-3 * golden.largest_gradient(), 2e-3};
    if (initializer.data->type.dtype == Dtype::bf16) return {2e-2 * golden.largest_gradient(), 2e-2};
  }
  return {};
}

std::vector<std::pair<std::string, Tensor>> all_outputs(const Graph& graph, const Backend& backend) {
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.emplace_back(output.name, backend.output(output.name));
  return outputs;
}

double largest_gradient(const std::vector<std::pair<std::string, Tensor>>& outputs) {
  double largest = 0;
  for (const auto& [name, tensor] : outputs)
    for (int64_t i = 0; (name.starts_with("grad/") || name.starts_with("gradin/")) && i < tensor.type().shape.numel();
         ++i)
      if (const double x = std::abs(element(tensor.view(), i)); std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

class Checker {
 public:
  explicit Checker(const DriverOptions& options)
      : golden_(options.golden.empty() ? std::nullopt
                                       : std::optional(Golden{options.golden, read_npz(options.golden)})),
        options_(check_options(options, golden_)),
        data_(open_data(options_)),
        scratch_(library_scratch(options_)),
        compiled_(compile_step(load_model(options_, MissingWeights::random, data_->input_shapes()), options_,
                               scratch_.get())) {
    if (!compiled_.step.plan) user_error("--stop-after {}: there is no step to check", options_.stop_after);
    if (!compiled_.model.can_run()) user_error("{} has shapes only; give --weights random:SEED", options_.model);
    require_interpreter_memory(compiled_.step);
    require_memory(compiled_.step, options_);
    data_->check(compiled_.step.graph, options_.train.loss);
  }

  // Which gradients were not compared with the golden file, or as what.
  const std::vector<std::string>& notes() const { return notes_; }

  std::vector<Difference> run() {
    const std::unique_ptr<Backend> reference = make_interpreter_backend(compiled_.step);
    run_once(*reference);
    const auto expected = all_outputs(compiled_.step.graph, *reference);
    if (golden_) against_golden("interpreter", *reference);
    if (options_.target != Target::interpreter) {
      const std::string target(target_name(options_.target));
      Report report{.options = options_, .model = compiled_.model};
      const std::unique_ptr<Backend> device = make_backend(compiled_.step, options_, report);
      run_once(*device);
      const auto first = all_outputs(compiled_.step.graph, *device);
      const Tolerance tolerance =
          low_tolerance(options_.train.precision, largest_gradient(expected)).value_or(Tolerance{});
      for (size_t i = 0; i < expected.size(); ++i)
        differences_.push_back(
            compare(target + " and interpreter: " + expected[i].first, first[i].second, expected[i].second, tolerance));
      if (golden_) against_golden(target, *device);
      run_again("two runs bitwise: ", *device, first);
      if (options_.target == Target::simt) other_orders(first);
    }
    if (!golden_) {
      const Batch batch = data_->batch(compiled_.step.graph, 0);
      for (Difference& d : check_finite_differences(compiled_.model, compiled_.step.graph, batch, options_.seed))
        differences_.push_back(std::move(d));
    }
    return std::move(differences_);
  }

 private:
  using Outputs = std::vector<std::pair<std::string, Tensor>>;

  void run_again(const std::string& what, Backend& device, const Outputs& first) {
    run_once(device);
    const Outputs again = all_outputs(compiled_.step.graph, device);
    for (size_t i = 0; i < first.size(); ++i)
      differences_.push_back(compare_bitwise(what + first[i].first, again[i].second, first[i].second));
  }

  // A kernel whose bits depend on the order of threads has a race.
  void other_orders(const Outputs& first) {
    for (const auto& [order, what] : {std::pair{simt::Order::descending, "threads descending, bitwise: "},
                                      std::pair{simt::Order::random, "threads at random, bitwise: "}}) {
      DriverOptions options = options_;
      options.simt_order = order;
      Report report{.options = options, .model = compiled_.model};
      run_again(what, *make_backend(compiled_.step, options, report), first);
    }
  }

  void run_once(Backend& backend) {
    Session session(compiled_.model, compiled_.step, backend, *data_, 1);
    session.initialize(options_.seed);
    session.run_step();
  }

  void against_golden(const std::string& who, const Backend& backend) {
    const std::string model_name = std::filesystem::path(options_.model).stem().string();
    const ParameterMap map =
        options_.param_map.empty() ? ParameterMap() : read_parameter_map(options_.param_map, model_name);
    GoldenComparison found =
        compare_with_golden(*golden_, map, compiled_.step.graph, backend,
                            golden_tolerance(compiled_.model.import, *golden_, options_.train.precision));
    notes_ = std::move(found.notes);
    if (found.differences.empty())
      user_error("{} shares no loss, output or gradient with {}", options_.golden, options_.model);
    for (Difference& d : found.differences) {
      d.what = who + " and golden: " + d.what;
      differences_.push_back(std::move(d));
    }
  }

  std::optional<Golden> golden_;
  DriverOptions options_;
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<LibraryScratch> scratch_;
  CompiledStep compiled_;
  std::vector<Difference> differences_;
  std::vector<std::string> notes_;
};

int run(const DriverOptions& options) {
  if (!options.json.empty() && options.json != "-") check_writable(options.json);
  Checker checker(options);
  const std::vector<Difference> differences = checker.run();
  bool ok = true;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Difference& d : differences) {
    ok = ok && d.ok();
    rows.push_back({{"what", d.what}, {"difference", d.largest}, {"allowed", d.allowed}, {"ok", d.ok()}});
  }
  if (!options.json.empty())
    write_json(options.json, {{"schema", "stepc-check/1"}, {"checks", std::move(rows)}, {"notes", checker.notes()}});
  if (options.json != "-" && (!options.quiet || !ok)) {
    fmt::print("{}", describe(differences, options.verbose));
    for (const std::string& note : checker.notes()) fmt::print("{}\n", printable(note, 200));
  }
  return ok ? 0 : 1;
}

}  // namespace

extern const Command command_check;
const Command command_check{"check", "compares gradients and backends with references; exit 1 where they differ",
                            declare, run};

}  // namespace stepc
