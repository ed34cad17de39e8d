#include "ir/support/error.h"
#include "runtime/cpu/scratch.h"
#include "runtime/executor.h"
#include "tools/driver/compiled.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace stepc {
namespace {

// "blocks.3.attn" → "blocks.*.attn": corresponding places of the layers.
std::string starred(const std::string& scope) {
  std::string result;
  for (size_t i = 0; i < scope.size();) {
    const size_t end = std::min(scope.find('.', i), scope.size());
    const std::string part = scope.substr(i, end - i);
    const bool number = !part.empty() && std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); });
    result += number ? "*" : part;
    if (end < scope.size()) result += '.';
    i = end + 1;
  }
  return result;
}

// Which row each launch belongs to, and the rows.
struct Rows {
  std::vector<KernelRow> rows;
  std::vector<size_t> row_of_launch;
  int64_t accumulate = 1;

  // How often a row's launches run in one step.
  int64_t runs(const KernelRow& row) const { return row.phase == Phase::optimizer ? 1 : accumulate; }
};

Rows make_rows(const Step& step, const cpu::Program& program, int64_t accumulate) {
  Rows result;
  result.accumulate = accumulate;
  std::map<std::tuple<std::string, Phase, std::string>, size_t> index;
  for (size_t i = 0; i < program.launches.size(); ++i) {
    const cpu::Launch& launch = program.launches[i];
    const Origin& origin = step.graph.node(step.plan->steps[i].node).origin;
    const std::string name = launch.symbol.empty() ? launch.kernel.label : launch.symbol;
    const std::string scope = starred(origin.scope);
    const auto [entry, added] = index.try_emplace({name, origin.phase, scope}, result.rows.size());
    if (added) {
      KernelRow row;
      row.name = name;
      row.kind = kernel_kind_name(launch.kernel.kind);
      row.scope = scope;
      row.phase = origin.phase;
      if (!launch.symbol.empty()) row.source = launch.symbol;
      result.rows.push_back(std::move(row));
    }
    KernelRow& row = result.rows[entry->second];
    for (const std::string& onnx : origin.onnx)
      if (std::ranges::find(row.onnx, onnx) == row.onnx.end()) row.onnx.push_back(onnx);
    const int64_t runs = result.runs(row);
    const KernelTraffic traffic = traffic_on(step.graph, launch.kernel, step.device);
    const Prediction prediction = predict(step.graph, launch.kernel, step.device);
    row.count += runs * launches_of(launch.kernel);
    row.flops += runs * traffic.flops;
    row.read_bytes += runs * traffic.read_bytes;
    row.write_bytes += runs * traffic.write_bytes;
    row.ideal_bytes += runs * traffic.ideal_bytes;
    row.predicted_us += static_cast<double>(runs) * prediction.us;
    if (added) row.bound = prediction.bound;
    result.row_of_launch.push_back(entry->second);
  }
  return result;
}

class CpuBackend : public Backend {
 public:
  CpuBackend(const Step& step, CpuKernels kernels, const DriverOptions& options)
      : step_(step),
        kernels_(std::move(kernels)),
        rows_(make_rows(step, kernels_.program, options.train.accumulate)),
        executor_(step.graph, *step.plan, kernels_.program, kernels_.library,
                  {.threads = options.thread_count(), .poison = options.verbose}) {}

  void set_persistent(std::string_view name, const TensorView& value) override { executor_.set_input(name, value); }
  Tensor persistent(std::string_view name) const override { return executor_.input(name); }
  Tensor output(std::string_view name) const override { return executor_.output(name); }

  void run(int64_t micro_steps, const DrawBatch& draw) override {
    if (!step_.graph.accumulates()) {
      set_batch(draw(0));
      executor_.run_step();
      return;
    }
    executor_.begin_accumulation();
    for (int64_t i = 0; i < micro_steps; ++i) {
      set_batch(draw(i));
      executor_.run_micro_step();
    }
    executor_.run_update();
  }

  void start_timing() override { executor_.set_profiling(true); }

  std::vector<KernelRow> kernels() const override {
    std::vector<KernelRow> rows = rows_.rows;
    const std::vector<LaunchProfile>& profile = executor_.profile();
    for (size_t i = 0; i < profile.size(); ++i) {
      if (profile[i].samples_us.empty()) continue;
      KernelRow& row = rows[rows_.row_of_launch[i]];
      row.measured_us = row.measured_us.value_or(0) + static_cast<double>(rows_.runs(row)) * profile[i].median_us();
    }
    return rows;
  }

  std::optional<int64_t> fixed_bytes() const override { return executor_.fixed_bytes(); }

  std::optional<int64_t> measured_peak_bytes() const override {
    if (executor_.arena_high_water_bytes() == 0) return std::nullopt;
    return executor_.arena_high_water_bytes() + step_.plan->persistent_bytes;
  }

 private:
  void set_batch(const Batch& batch) {
    for (const auto& [name, tensor] : batch) executor_.set_input(name, tensor.view());
  }

  const Step& step_;
  CpuKernels kernels_;
  Rows rows_;
  Executor executor_;
};

}  // namespace

CpuKernels compile_kernels(const Step& step, const DriverOptions& options) {
  cpu::Program program = cpu::generate(step.graph, *step.plan);
  KernelLibrary library(cpu::translation_units(program.functions), {.threads = options.thread_count(), .folder = {}});
  return {std::move(program), std::move(library)};
}

std::vector<KernelRow> kernel_rows(const Step& step, const cpu::Program& program, int64_t accumulate) {
  return make_rows(step, program, accumulate).rows;
}

std::unique_ptr<LibraryScratch> library_scratch(const DriverOptions& options) {
  return options.target == Target::cpu ? std::make_unique<CpuScratch>(options.thread_count()) : nullptr;
}

std::unique_ptr<Backend> make_cpu_backend(const Step& step, CpuKernels kernels, const DriverOptions& options) {
  return std::make_unique<CpuBackend>(step, std::move(kernels), options);
}

std::unique_ptr<Backend> make_backend(const Step& step, const DriverOptions& options, Report& report) {
  if (options.target == Target::interpreter) return make_interpreter_backend(step);
  CpuKernels kernels = compile_kernels(step, options);
  report.compile_us = static_cast<double>(kernels.library.compile_us());
  report.cache_hits = kernels.library.cache_hits();
  return make_cpu_backend(step, std::move(kernels), options);
}

}  // namespace stepc
