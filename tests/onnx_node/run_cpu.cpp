#include "codegen/cpu/program.h"
#include "passes/pipelines.h"
#include "passes/runner.h"
#include "runtime/cpu/scratch.h"
#include "tests/onnx_node/node_case.h"
#include "tests/runtime/run_graph.h"

#include <algorithm>
#include <array>

namespace stepc::test {
namespace {

// A graph ready to run, or why it is not.
struct Compiled {
  std::string error;
  Graph graph;
  Plan plan;
  cpu::Program program;
};

std::vector<const Pass*> forward_pipeline() {
  constexpr std::array<std::string_view, 6> kTraining{"loss", "autodiff", "accumulate", "unscale", "clip", "optimizer"};
  std::vector<const Pass*> pipeline = default_pipeline();
  std::erase_if(pipeline, [&](const Pass* pass) { return std::ranges::count(kTraining, pass->name) > 0; });
  return pipeline;
}

Compiled compile(const Graph& graph) {
  Compiled compiled;
  try {
    compiled.graph = graph.clone();
    const TrainOptions options;
    const CpuScratch scratch;
    PassContext context(options);
    context.scratch = &scratch;
    run_passes(compiled.graph, forward_pipeline(), context, {.measure = false});
    compiled.plan = std::move(*context.plan);
    compiled.program = cpu::generate(compiled.graph, compiled.plan);
  } catch (const std::exception& error) {
    compiled.error = error.what();
  }
  return compiled;
}

RunResult run(const Compiled& compiled, const KernelLibrary& library, const Values& inputs) {
  if (!compiled.error.empty()) return {{}, compiled.error};
  try {
    Tensors tensors;
    for (const GraphInput& input : compiled.graph.inputs())
      tensors.emplace(input.name, inputs.at(input.name).to_tensor());
    RunResult result;
    for (const auto& [name, tensor] : run_program(compiled.graph, compiled.plan, compiled.program, library, tensors))
      result.outputs.emplace(name, RefTensor(tensor.view()));
    return result;
  } catch (const std::exception& error) {
    return {{}, error.what()};
  }
}

}  // namespace

std::vector<RunResult> run_cpu(std::span<const GraphRun> runs) {
  std::vector<Compiled> compiled;
  std::vector<cpu::KernelFunction> functions;
  for (const GraphRun& run : runs) {
    const cpu::Program& program = compiled.emplace_back(compile(run.graph)).program;
    functions.insert(functions.end(), program.functions.begin(), program.functions.end());
  }
  const KernelLibrary library = test_kernels(functions);
  std::vector<RunResult> results;
  for (size_t i = 0; i < runs.size(); ++i) results.push_back(run(compiled[i], library, runs[i].inputs));
  return results;
}

}  // namespace stepc::test
