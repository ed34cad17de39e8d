#include "tests/runtime/run_graph.h"

#include "codegen/cpu/program.h"
#include "ir/interpreter.h"
#include "ir/op_def.h"
#include "runtime/cpu/scratch.h"
#include "runtime/executor.h"

#include <filesystem>

namespace stepc::test {

Plan plain_plan(const Graph& graph) { return plain_plan(graph, CpuScratch()); }

Plan plain_plan(const Graph& graph, const LibraryScratch& scratch) {
  const Layouts layouts(graph);
  Plan plan;
  plan.block_of_value.assign(static_cast<size_t>(graph.value_limit()), -1);
  plan.layout_of_value.resize(static_cast<size_t>(graph.value_limit()));
  const auto aligned = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  for (int32_t i = 0; i < graph.value_limit(); ++i) {
    if (!graph.alive(ValueId{i})) continue;
    plan.layout_of_value[static_cast<size_t>(i)] = layouts.of(ValueId{i});
    if (layouts.is_alias(ValueId{i})) continue;
    plan.block_of_value[static_cast<size_t>(i)] = static_cast<int32_t>(plan.blocks.size());
    plan.blocks.push_back({.owner = ValueId{i}, .bytes = graph.type(ValueId{i}).bytes(), .offset = plan.arena_bytes});
    plan.arena_bytes += aligned(plan.blocks.back().bytes);
  }
  for (int32_t i = 0; i < graph.value_limit(); ++i)
    if (graph.alive(ValueId{i}))
      plan.block_of_value[static_cast<size_t>(i)] =
          plan.block_of_value[static_cast<size_t>(layouts.block(ValueId{i}).index)];
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op == Op::constant || layouts.is_alias(node)) continue;
    plan.steps.push_back({id, plan.arena_bytes, scratch.scratch_bytes(graph, id, layouts)});
    plan.arena_bytes += aligned(plan.steps.back().scratch_bytes);
  }
  for (const StatePair& state : graph.states()) plan.state_copies.push_back({state.output, state.input});
  return plan;
}

KernelLibrary test_kernels(std::span<const cpu::KernelFunction> functions) {
  return {cpu::translation_units(functions),
          {.threads = 2, .folder = std::filesystem::temp_directory_path() / "stepc-tests"}};
}

Tensors run_program(const Graph& graph, const Plan& plan, const cpu::Program& program, const KernelLibrary& library,
                    const Tensors& inputs, int threads) {
  Executor executor(graph, plan, program, library, {.threads = threads, .poison = true});
  for (const auto& [name, tensor] : inputs) executor.set_input(name, tensor.view());
  executor.run_step();
  Tensors outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.emplace(output.name, executor.output(output.name));
  return outputs;
}

Tensors run_on_cpu(const Graph& graph, const Plan& plan, const Tensors& inputs, int threads) {
  const cpu::Program program = cpu::generate(graph, plan);
  return run_program(graph, plan, program, test_kernels(program.functions), inputs, threads);
}

Tensors run_on_cpu(const Graph& graph, const Tensors& inputs, int threads) {
  return run_on_cpu(graph, plain_plan(graph), inputs, threads);
}

std::map<std::string, RefTensor> run_on_interpreter(const Graph& graph, const Tensors& inputs) {
  std::map<std::string, RefTensor> references;
  for (const auto& [name, tensor] : inputs) references.emplace(name, RefTensor(tensor.view()));
  return interpret(graph, references, RefPrecision::f32).outputs;
}

Tensor pseudo_random(const Type& type, uint32_t seed, double low, double high) {
  Tensor tensor(type);
  uint32_t state = seed * 2654435761U + 12345U;
  for (int64_t i = 0; i < type.shape.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    set_element(tensor, i, low + (high - low) * static_cast<double>(state >> 8) / 0x1p24);
  }
  return tensor;
}

}  // namespace stepc::test
