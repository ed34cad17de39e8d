#pragma once

#include "codegen/cpu/program.h"
#include "ir/plan.h"
#include "runtime/cpu/kernel_library.h"
#include "tools/driver/backend.h"
#include "tools/driver/model.h"
#include "tools/driver/report.h"
#include "tools/driver/step.h"

#include <memory>
#include <string>

namespace stepc {

// A step's generated code, compiled and loaded.
struct CpuKernels {
  cpu::Program program;
  KernelLibrary library;
};
CpuKernels compile_kernels(const Step& step, const DriverOptions& options);

// The kernels of a step as rows of the report, not measured yet: launches of the same kernel in the same phase and in
// corresponding places of the layers are one row.
std::vector<KernelRow> kernel_rows(const Step& step, const cpu::Program& program, int64_t accumulate);

// What library kernels of the target need besides their operands.
std::unique_ptr<LibraryScratch> library_scratch(const DriverOptions& options);

// The backend of --target. Kernels that it compiles are counted in `report`.
std::unique_ptr<Backend> make_backend(const Step& step, const DriverOptions& options, Report& report);
std::unique_ptr<Backend> make_cpu_backend(const Step& step, CpuKernels kernels, const DriverOptions& options);

// A step with the model that it was made from.
struct CompiledStep {
  Model model;
  Step step;
};
CompiledStep compile_step(Model model, const DriverOptions& options, const LibraryScratch* scratch);

}  // namespace stepc
