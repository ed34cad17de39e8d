#pragma once

#include "ir/plan.h"
#include "tools/driver/backend.h"
#include "tools/driver/options.h"
#include "tools/driver/report.h"
#include "tools/driver/step.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepc {

// The code of a step for --target, as `compile` reports and writes it. The interpreter has none.
struct CompiledCode {
  struct File {
    std::string name, content;
  };
  struct Built {  // absent with --plan-only
    int64_t units = 0, cache_hits = 0;
    double compile_us = 0;
  };

  std::vector<KernelRow> rows;
  size_t launches = 0, functions = 0;
  std::vector<File> files{};  // of kernels/
  std::optional<Built> built{};
};

std::optional<CompiledCode> compile_code(const Step& step, const DriverOptions& options);
CompiledCode compile_cpu_code(const Step& step, const DriverOptions& options);
CompiledCode compile_gpu_code(const Step& step, const DriverOptions& options);  // targets cuda and simt

// What library kernels of the target need besides their operands.
std::unique_ptr<LibraryScratch> library_scratch(const DriverOptions& options);

// The backend of --target. Kernels that it compiles are counted in `report`.
std::unique_ptr<Backend> make_backend(const Step& step, const DriverOptions& options, Report& report);
std::unique_ptr<Backend> make_cpu_backend(const Step& step, const DriverOptions& options, Report& report);
std::unique_ptr<Backend> make_cuda_backend(const Step& step, const DriverOptions& options, Report& report);
std::unique_ptr<Backend> make_simt_backend(const Step& step, const DriverOptions& options, Report& report);

}  // namespace stepc
