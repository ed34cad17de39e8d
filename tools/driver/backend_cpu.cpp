#include "codegen/cpu/program.h"
#include "runtime/cpu/kernel_library.h"
#include "runtime/cpu/library.h"
#include "runtime/executor.h"
#include "tools/driver/kernel_rows.h"
#include "tools/driver/target_code.h"

#include <utility>

namespace stepc {
namespace {

struct CpuKernels {
  cpu::Program program;
  KernelLibrary library;
};

CpuKernels compile_kernels(const Step& step, const DriverOptions& options) {
  cpu::Program program = cpu::generate(step.graph, *step.plan, cpu_products());
  KernelLibrary library(cpu::translation_units(program.functions), {.threads = options.thread_count(), .folder = {}});
  return {std::move(program), std::move(library)};
}

std::vector<LaunchCode> launches_of_program(const cpu::Program& program) {
  std::vector<LaunchCode> launches;
  for (const cpu::Launch& launch : program.launches)
    launches.push_back({&launch.kernel, launch.symbol, launches_of(launch.kernel)});
  return launches;
}

class CpuBackend : public Backend {
 public:
  CpuBackend(const Step& step, CpuKernels kernels, const DriverOptions& options)
      : step_(step),
        kernels_(std::move(kernels)),
        rows_(step, launches_of_program(kernels_.program), options.train.accumulate),
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

  int64_t start_timing(int64_t) override {
    executor_.set_profiling(true);
    return 0;
  }

  std::vector<KernelRow> kernels() const override { return rows_.measured(executor_.profile()); }

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
  KernelRows rows_;
  Executor executor_;
};

}  // namespace

CompiledCode compile_cpu_code(const Step& step, const DriverOptions& options) {
  cpu::Program program = cpu::generate(step.graph, *step.plan, cpu_products());
  CompiledCode code{.rows = KernelRows(step, launches_of_program(program), options.train.accumulate).rows,
                    .launches = program.launches.size(),
                    .functions = program.functions.size()};
  if (options.plan_only) return code;
  const std::vector<std::string> units = cpu::translation_units(program.functions);
  const KernelLibrary library(units, {.threads = options.thread_count(), .folder = {}});
  for (size_t i = 0; i < units.size(); ++i) code.files.push_back({fmt::format("unit{:02}.cpp", i), units[i]});
  code.built = {library.unit_count(), library.cache_hits(), static_cast<double>(library.compile_us())};
  return code;
}

std::unique_ptr<Backend> make_cpu_backend(const Step& step, const DriverOptions& options, Report& report) {
  CpuKernels kernels = compile_kernels(step, options);
  report.compile_us = static_cast<double>(kernels.library.compile_us());
  report.cache_hits = kernels.library.cache_hits();
  return std::make_unique<CpuBackend>(step, std::move(kernels), options);
}

}  // namespace stepc
