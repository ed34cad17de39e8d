#include "tools/driver/target_code.h"

#include "runtime/cpu/scratch.h"
#include "runtime/gpu/scratch.h"

namespace stepc {

std::optional<CompiledCode> compile_code(const Step& step, const DriverOptions& options) {
  switch (options.target) {
    case Target::interpreter: return std::nullopt;
    case Target::cpu: return compile_cpu_code(step, options);
    case Target::cuda:
    case Target::simt: return compile_gpu_code(step, options);
  }
  return std::nullopt;
}

std::unique_ptr<LibraryScratch> library_scratch(const DriverOptions& options) {
  switch (options.target) {
    case Target::interpreter: return nullptr;
    case Target::cpu: return std::make_unique<CpuScratch>(options.thread_count());
    case Target::cuda:
    case Target::simt: return std::make_unique<GpuScratch>(options.plans_library());
  }
  return nullptr;
}

std::unique_ptr<Backend> make_backend(const Step& step, const DriverOptions& options, Report& report) {
  switch (options.target) {
    case Target::interpreter: return make_interpreter_backend(step);
    case Target::cpu: return make_cpu_backend(step, options, report);
    case Target::cuda: return make_cuda_backend(step, options, report);
    case Target::simt: return make_simt_backend(step, options, report);
  }
  return nullptr;
}

}  // namespace stepc
