#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"

#include <cstddef>
#include <string>
#include <vector>

namespace stepc::cpu {

// One launch of the plan.
struct Launch {
  Kernel kernel;
  std::string symbol;  // of its function; empty for library kernels
};

// All launches of a plan and the C++ that carries them: one function per distinct kernel, whatever the number of
// launches that share it.
struct Program {
  std::vector<Launch> launches;    // as Plan::steps
  std::vector<std::string> units;  // translation units, complete with device functions
  size_t functions = 0;
};

Program generate(const Graph& graph, const Plan& plan);

// The function of one kernel, without the device functions. Its name is a hash of its text and of operation names, so
// no name of a model reaches it.
struct KernelFunction {
  std::string symbol;
  std::string text;
};
KernelFunction print_function(const Kernel& kernel);

// A translation unit of these functions.
std::string translation_unit(const std::vector<std::string>& functions);

}  // namespace stepc::cpu
