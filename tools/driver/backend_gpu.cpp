#include "codegen/cuda/program.h"
#include "ir/support/error.h"
#include "runtime/gpu/contraction.h"
#include "runtime/gpu/executor.h"
#include "runtime/gpu/simt.h"
#include "tools/driver/gpu.h"
#include "tools/driver/gpu_code.h"
#include "tools/driver/kernel_rows.h"
#include "tools/driver/target_code.h"

#include <algorithm>
#include <filesystem>

namespace stepc {
namespace {

CompileOptions compile_options(const DriverOptions& options) {
  return {.threads = options.thread_count(), .folder = {}};
}

SimtOptions simt_options(const DriverOptions& options) {
  return {.architecture = options.architecture,
          .order = options.simt_order,
          .seed = options.seed,
          .threads = options.thread_count(),
          .compile = compile_options(options)};
}

class GpuBackend : public Backend {
 public:
  // `code`: null on target simt.
  GpuBackend(const Step& step, cuda::Program program, std::unique_ptr<GpuDevice> device, const GpuCode* code,
             int64_t accumulate)
      : step_(step),
        program_(std::move(program)),
        rows_(step, launches_of_program(program_, code), accumulate),
        device_(std::move(device)),
        executor_(step.graph, *step.plan, program_, *device_),
        times_whole_steps_(code != nullptr) {}

  void set_persistent(std::string_view name, const TensorView& value) override { executor_.set_input(name, value); }
  Tensor persistent(std::string_view name) const override { return executor_.input(name); }
  Tensor output(std::string_view name) const override { return executor_.output(name); }

  void run(int64_t micro_steps, const DrawBatch& draw) override {
    executor_.set_profiling(profiled_steps_ > 0);
    if (profiled_steps_ > 0) --profiled_steps_;
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

  // A GPU runs a recorded step faster than its launches one by one: a few steps are timed by launch, the rest as
  // wholes.
  int64_t start_timing(int64_t steps) override {
    constexpr int64_t kByLaunch = 3;
    profiled_steps_ = times_whole_steps_ ? std::min(kByLaunch, (steps + 1) / 2) : steps;
    return times_whole_steps_ ? profiled_steps_ : 0;
  }
  std::vector<KernelRow> kernels() const override { return rows_.measured(executor_.profile()); }

 private:
  void set_batch(const Batch& batch) {
    for (const auto& [name, tensor] : batch) executor_.set_input(name, tensor.view());
  }

  const Step& step_;
  cuda::Program program_;
  KernelRows rows_;
  std::unique_ptr<GpuDevice> device_;
  GpuExecutor executor_;
  bool times_whole_steps_;
  int64_t profiled_steps_ = 0;
};

// Of the compiled folder that is run, where it serves; else by NVRTC.
GpuCode gpu_code(const std::vector<std::string>& units, const cuda::DeviceInfo& device, const DriverOptions& options,
                 Report& report) {
  if (std::filesystem::is_directory(options.model)) {
    auto found = read_gpu_code(options.model, units, device.capability, gpu_driver());
    if (auto* code = std::get_if<GpuCode>(&found)) return std::move(*code);
    report.notes.push_back(
        fmt::format("kernels of {} are compiled again: {}", options.model, std::get<std::string>(found)));
  }
  GpuCode code = compile_units(units, device.architecture, options);
  gpu_driver().check_runs(code.compiler);
  return code;
}

cuda::LibraryRule library_rule(bool library) { return library ? is_planned_for_library : cuda::LibraryRule(); }

}  // namespace

CompiledCode compile_gpu_code(const Step& step, const DriverOptions& options) {
  const cuda::Program program = cuda::generate(step.graph, *step.plan, library_rule(options.plans_library()));
  const auto rows = [&](const GpuCode* code) {
    return KernelRows(step, launches_of_program(program, code), options.train.accumulate).rows;
  };
  CompiledCode code{.rows = {}, .launches = program.launches.size(), .functions = program.functions.size()};
  if (options.plan_only) {
    code.rows = rows(nullptr);
    return code;
  }
  const std::vector<std::string> units = cuda::translation_units(program.functions);
  if (options.target == Target::cuda) {
    const GpuCode compiled = compile_units(units, options.architecture, options);
    code.rows = rows(&compiled);
    code.files = gpu_code_files(units, compiled);
    code.built = compiled.built;
    return code;
  }
  const SimtGpu device(simt_options(options), program);
  code.rows = rows(nullptr);
  for (size_t i = 0; i < units.size(); ++i) code.files.push_back({fmt::format("unit{:02}.cu", i), units[i]});
  code.built = {device.unit_count(), device.cache_hits(), device.compile_us()};
  return code;
}

std::unique_ptr<Backend> make_simt_backend(const Step& step, const DriverOptions& options, Report& report) {
  cuda::Program program = cuda::generate(step.graph, *step.plan);
  auto device = std::make_unique<SimtGpu>(simt_options(options), program);
  report.compile_us = device->compile_us();
  report.cache_hits = device->cache_hits();
  return std::make_unique<GpuBackend>(step, std::move(program), std::move(device), nullptr, options.train.accumulate);
}

std::unique_ptr<Backend> make_cuda_backend(const Step& step, const DriverOptions& options, Report& report) {
  std::unique_ptr<CudaGpu> device = open_gpu(options.plans_library());
  if (options.plans_library() && !device->has_library())
    report.notes.emplace_back("no cuBLASLt on this machine: contractions are generated");
  cuda::Program program = cuda::generate(step.graph, *step.plan, library_rule(device->has_library()));
  const GpuCode code = gpu_code(cuda::translation_units(program.functions), device->info(), options, report);
  report.compile_us = code.built.compile_us;
  report.cache_hits = code.built.cache_hits;
  device->load(code.cubins, code.architecture);
  return std::make_unique<GpuBackend>(step, std::move(program), std::move(device), &code, options.train.accumulate);
}

}  // namespace stepc
