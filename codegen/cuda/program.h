#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace stepc::cuda {

// One `extern "C" __global__` function, without the device functions. Its name is a hash of its text and of operation
// names, so no name of a model reaches it. Parameters: a pointer per buffer, `char* scratch`, `StepcIndexError* error`.
struct Function {
  std::string symbol;
  std::string text;
  bool slow_to_compile = false;
};

// A launch of a function: `grid` blocks of `threads` threads, numbered in x.
struct Stage {
  std::string symbol;
  int64_t grid = 1;
  int32_t threads = 1;
  int64_t shared_bytes = 0;  // dynamic
};

struct Launch {
  Kernel kernel;
  std::vector<Stage> stages;  // one after the other; none where a library carries it, or there is nothing to do
  bool by_library = false;
};

// All launches of a plan and the CUDA C++ that carries them: one function per distinct text, whatever the number of
// launches that share it.
struct Program {
  std::vector<Launch> launches;     // as Plan::steps
  std::vector<Function> functions;  // in the order of their first launches
};

// Which contractions a library of the device carries; an empty rule means none.
using LibraryRule = std::function<bool(const Kernel&)>;

Program generate(const Graph& graph, const Plan& plan, const LibraryRule& by_library = {});

// The functions of one kernel with their launches; `alignments` as in print_kernel.h.
struct KernelFunctions {
  std::vector<Function> functions;
  std::vector<Stage> stages;
};
KernelFunctions print_functions(const Kernel& kernel, std::span<const int64_t> alignments);

// What a kernel's stages need besides its buffers.
int64_t scratch_bytes(const Kernel& kernel);

// The functions, each once, in translation units that are complete with device functions and include nothing; what
// takes the compiler long stands alone, so that several can work at it.
std::vector<std::string> translation_units(std::span<const Function> functions);

}  // namespace stepc::cuda
