#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"

#include <span>
#include <string>
#include <vector>

namespace stepc::cpu {

// Who computes contractions and convolutions: a library, or generated code, which takes tiles for contractions and loop
// nests for convolutions.
enum class Products { library, generated };

// describe_kernel, as the CPU carries the node.
Kernel describe(const Graph& graph, NodeId node, const LayoutOf& layouts, Products products);

// One launch of the plan.
struct Launch {
  Kernel kernel;
  std::string symbol;  // of its function; empty for kernels of the library
};

// The function of one kernel, without the device functions. Its name is a hash of its text and of operation names, so
// no name of a model reaches it.
struct KernelFunction {
  std::string symbol;
  std::string text;
};
KernelFunction print_function(const Kernel& kernel);

// All launches of a plan and the C++ that carries them: one function per distinct kernel, whatever the number of
// launches that share it.
struct Program {
  std::vector<Launch> launches;           // as Plan::steps
  std::vector<KernelFunction> functions;  // in the order of their first launches
};

Program generate(const Graph& graph, const Plan& plan, Products products = Products::library);

// The functions, each once, in translation units that are complete with device functions.
std::vector<std::string> translation_units(std::span<const KernelFunction> functions);

}  // namespace stepc::cpu
