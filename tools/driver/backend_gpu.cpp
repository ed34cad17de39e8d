#include "codegen/cuda/program.h"
#include "ir/support/error.h"
#include "runtime/cuda/cubin_library.h"
#include "runtime/gpu/cuda.h"
#include "runtime/gpu/executor.h"
#include "runtime/gpu/simt.h"
#include "tools/driver/kernel_rows.h"
#include "tools/driver/target_code.h"

#include <algorithm>

namespace stepc {
namespace {

std::vector<LaunchCode> launches_of_program(const cuda::Program& program) {
  std::vector<LaunchCode> launches;
  for (const cuda::Launch& launch : program.launches)
    launches.push_back({&launch.kernel, launch.stages.empty() ? std::string() : launch.stages[0].symbol,
                        static_cast<int64_t>(launch.stages.size())});
  return launches;
}

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
  GpuBackend(const Step& step, cuda::Program program, std::unique_ptr<GpuDevice> device, int64_t accumulate)
      : step_(step),
        program_(std::move(program)),
        rows_(step, launches_of_program(program_), accumulate),
        device_(std::move(device)),
        executor_(step.graph, *step.plan, program_, *device_) {}

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
};

}  // namespace

CompiledCode compile_gpu_code(const Step& step, const DriverOptions& options) {
  const cuda::Program program = cuda::generate(step.graph, *step.plan);
  CompiledCode code{.rows = KernelRows(step, launches_of_program(program), options.train.accumulate).rows,
                    .launches = program.launches.size(),
                    .functions = program.functions.size()};
  if (options.plan_only) return code;
  const std::vector<std::string> units = cuda::translation_units(program.functions);
  for (size_t i = 0; i < units.size(); ++i) code.files.push_back({fmt::format("unit{:02}.cu", i), units[i]});
  if (options.target == Target::simt) {
    const SimtGpu device(simt_options(options), program);
    code.built = {device.unit_count(), device.cache_hits(), device.compile_us()};
    return code;
  }
  const cuda::CubinLibrary library(units, options.architecture, compile_options(options));
  for (size_t i = 0; i < library.cubins().size(); ++i)
    code.files.push_back(
        {fmt::format("unit{:02}.{}.cubin", i, options.architecture.name()), library.cubins()[i].image});
  code.built = {library.unit_count(), library.cache_hits(), static_cast<double>(library.compile_us())};
  return code;
}

std::unique_ptr<Backend> make_gpu_backend(const Step& step, const DriverOptions& options, Report& report) {
  cuda::Program program = cuda::generate(step.graph, *step.plan);
  std::unique_ptr<GpuDevice> device;
  const auto count = [&](const auto& gpu) {
    report.compile_us = gpu.compile_us();
    report.cache_hits = gpu.cache_hits();
  };
  if (options.target == Target::simt) {
    auto gpu = std::make_unique<SimtGpu>(simt_options(options), program);
    count(*gpu);
    device = std::move(gpu);
  } else {
    static const cuda::Driver driver = cuda::Driver::open();
    auto gpu = std::make_unique<CudaGpu>(driver, 0, program, compile_options(options));
    count(*gpu);
    device = std::move(gpu);
  }
  return std::make_unique<GpuBackend>(step, std::move(program), std::move(device), options.train.accumulate);
}

}  // namespace stepc
