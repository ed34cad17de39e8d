#pragma once

#include "codegen/cuda/program.h"
#include "runtime/cuda/cubin.h"
#include "runtime/cuda/driver.h"
#include "tools/driver/kernel_rows.h"
#include "tools/driver/target_code.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepc {

// The compiled functions of a program for target cuda.
struct GpuCode {
  std::vector<cuda::Cubin> cubins;  // one per translation unit
  cuda::Architecture architecture;
  cuda::Version compiler;  // NVRTC's
  CompiledCode::Built built;
};

// By NVRTC, through the cache. Throws as cuda::CubinLibrary does.
GpuCode compile_units(std::span<const std::string> units, cuda::Architecture architecture,
                      const DriverOptions& options);

// The files of a compiled folder's kernels/: units, their cubins, and kernels.json, which says of each what it is of.
std::vector<CompiledCode::File> gpu_code_files(std::span<const std::string> units, const GpuCode& code);

// What such a folder holds for these units; or why that does not serve on this device, as a sentence.
std::variant<GpuCode, std::string> read_gpu_code(const std::string& folder, std::span<const std::string> units,
                                                 cuda::Architecture device, const cuda::Driver& driver);

// A program's launches with what the assembler said of their functions, where `code` is given.
std::vector<LaunchCode> launches_of_program(const cuda::Program& program, const GpuCode* code);

}  // namespace stepc
