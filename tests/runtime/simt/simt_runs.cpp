#include "tests/runtime/simt/simt_runs.h"

#include "codegen/cuda/program.h"
#include "runtime/gpu/executor.h"
#include "runtime/gpu/scratch.h"
#include "runtime/gpu/simt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace stepc::test {
namespace {

Tensors run_on_simt(const Graph& graph, const Plan& plan, const cuda::Program& program, const Tensors& inputs,
                    simt::Order order) {
  SimtGpu device({.order = order,
                  .seed = 7,
                  .threads = 2,
                  .compile = {.threads = 2, .folder = std::filesystem::temp_directory_path() / "stepc-tests"}},
                 program);
  GpuExecutor executor(graph, plan, program, device);
  for (const auto& [name, tensor] : inputs) executor.set_input(name, tensor.view());
  executor.run_step();
  Tensors outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.emplace(output.name, executor.output(output.name));
  return outputs;
}

double largest(const RefTensor& tensor) {
  double result = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) result = std::max(result, std::fabs(tensor.at(i)));
  return result;
}

}  // namespace

void expect_simt_agrees(const Graph& graph, const Tensors& inputs, const SimtTolerance& tolerance) {
  const Plan plan = plain_plan(graph, GpuScratch(/*library=*/false));
  const cuda::Program program = cuda::generate(graph, plan);
  const Tensors outputs = run_on_simt(graph, plan, program, inputs, simt::Order::ascending);
  for (const simt::Order order : {simt::Order::descending, simt::Order::random})
    EXPECT_TRUE(run_on_simt(graph, plan, program, inputs, order) == outputs) << "bits depend on the order of threads";

  bool half = false;
  for (const auto& [name, tensor] : inputs)
    half |= is_float(tensor.type().dtype) && dtype_bytes(tensor.type().dtype) == 2;
  const auto expected = run_on_interpreter(graph, inputs);
  for (const auto& [name, tensor] : outputs) {
    const RefTensor& want = expected.at(name);
    ASSERT_EQ(tensor.type(), want.type) << name;
    const double bound = (half ? tolerance.half : tolerance.f32) * std::max(largest(want), tolerance.least);
    for (int64_t i = 0; i < want.numel(); ++i) {
      const double own = element(tensor.view(), i), exact = want.at(i);
      if (std::isnan(exact) ? std::isnan(own) : own == exact) continue;
      ASSERT_LE(std::fabs(own - exact), bound) << name << " element " << i << ": " << own << ", evaluated " << exact;
    }
  }
}

}  // namespace stepc::test
