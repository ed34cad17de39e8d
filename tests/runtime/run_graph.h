#pragma once

#include "codegen/cpu/program.h"
#include "ir/graph.h"
#include "ir/plan.h"
#include "ir/ref_tensor.h"
#include "ir/tensor.h"
#include "runtime/cpu/kernel_library.h"

#include <map>
#include <span>
#include <string>

namespace stepc::test {

using Tensors = std::map<std::string, Tensor>;

// Every block in a place of its own, in list order; with the CPU's scratch, or another's.
Plan plain_plan(const Graph& graph);
Plan plain_plan(const Graph& graph, const LibraryScratch& scratch);

// Compiled kernels, from a cache of the tests' own.
KernelLibrary test_kernels(std::span<const cpu::KernelFunction> functions);

// Runs a program once, on a poisoned arena; the graph's outputs.
Tensors run_program(const Graph& graph, const Plan& plan, const cpu::Program& program, const KernelLibrary& library,
                    const Tensors& inputs, int threads = 2);
// The same, generated and compiled too.
Tensors run_on_cpu(const Graph& graph, const Tensors& inputs, int threads = 2);
Tensors run_on_cpu(const Graph& graph, const Plan& plan, const Tensors& inputs, int threads);

// What the reference interpreter makes of the same inputs, rounded to each dtype.
std::map<std::string, RefTensor> run_on_interpreter(const Graph& graph, const Tensors& inputs);

// Deterministic values in [low, high).
Tensor pseudo_random(const Type& type, uint32_t seed, double low = -1, double high = 1);

}  // namespace stepc::test
