// Every sample of every operation: emitted code against evaluation. All samples are one graph, so that their kernels
// are compiled together; composites are decomposed first.
#include "ir/builder.h"
#include "ir/kernel.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "tests/ops/samples.h"
#include "tests/runtime/run_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepc::test {
namespace {

RefTensor in_f32(RefTensor tensor) {
  if (tensor.type.dtype != Dtype::f64) return tensor;
  tensor.type.dtype = Dtype::f32;
  tensor.round_to_dtype();
  return tensor;
}

struct AllSamples {
  Graph graph;
  Tensors inputs;
};

// The samples' nodes side by side, outputs "<op>/<label>:<i>". With `single`, f64 operands become f32; samples whose
// node needs f64 are left out.
AllSamples all_in_one(bool single) {
  AllSamples all;
  Builder b(all.graph);
  size_t number = 0;
  for (const Sample& sample : all_samples()) {
    std::vector<ValueId> operands;
    for (size_t i = 0; i < sample.operands.size(); ++i) {
      operands.push_back(kNoValue);
      if (!sample.operands[i]) continue;
      const RefTensor value = single ? in_f32(*sample.operands[i]) : *sample.operands[i];
      const std::string name = fmt::format("{}.{}", number, i);
      operands.back() = all.graph.add_input(value.type, InputRole::data, name);
      all.inputs.emplace(name, value.to_tensor());
    }
    ++number;
    try {
      const NodeId id = sample.make ? sample.make(b, operands) : b.make_node(sample.op, operands, sample.attrs);
      const std::vector<ValueId> results = all.graph.node(id).outputs;
      for (size_t i = 0; i < results.size(); ++i)
        all.graph.add_output(results[i], OutputRole::output,
                             fmt::format("{}/{}:{}", op_name(sample.op), sample.label, i));
    } catch (const UserError&) {
      EXPECT_TRUE(single) << sample.label;
    }
  }
  return all;
}

// Composites that no kernel carries, or all of them.
void decompose(Graph& graph, bool all) {
  for (NodeId id = graph.first(); id.valid();) {
    const Node& node = graph.node(id);
    const OpDef& def = op_def(node.op);
    const Layouts layouts(graph);
    if (def.kind != OpKind::composite || (!all && !why_no_kernel(graph, id, layouts_of(layouts)))) {
      id = graph.next(id);
      continue;
    }
    const NodeId before = graph.previous(id);
    Builder b(graph, node.origin, id);
    const std::vector<ValueId> outputs = node.outputs;
    const std::vector<ValueId> values = def.decompose(b, graph, id);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (values[i].valid()) graph.replace_uses(outputs[i], values[i]);
    graph.erase(id);
    id = before.valid() ? graph.next(before) : graph.first();
  }
}

double largest(const RefTensor& tensor) {
  double result = 1;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) result = std::max(result, std::fabs(tensor.at(i)));
  return result;
}

void expect_close(const std::string& name, const Tensor& own, const RefTensor& want, double tolerance) {
  ASSERT_EQ(own.type(), want.type) << name;
  const double bound = tolerance * largest(want);
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double a = element(own.view(), i);
    const double e = want.at(i);
    const bool special = !std::isfinite(e) || !want.is_real();
    EXPECT_TRUE(special ? (std::isnan(e) ? std::isnan(a) : a == e) : std::fabs(a - e) <= bound)
        << name << " element " << i << ": " << a << ", evaluated " << e;
  }
}

void expect_all(bool single, bool decomposed, double tolerance, double half_tolerance) {
  AllSamples all = all_in_one(single);
  const auto expected = run_on_interpreter(all.graph, all.inputs);
  decompose(all.graph, decomposed);
  const Tensors outputs = run_on_cpu(all.graph, all.inputs);
  for (const auto& [name, tensor] : outputs) {
    const bool half = tensor.type().dtype == Dtype::f16 || tensor.type().dtype == Dtype::bf16;
    expect_close(name, tensor, expected.at(name), half ? half_tolerance : tolerance);
  }
}

TEST(AllOps, EmittedCodeAgreesWithEvaluationInF64) { expect_all(false, true, 1e-5, 0.02); }
TEST(AllOps, EmittedCodeAgreesWithEvaluationInF32) { expect_all(true, true, 2e-5, 0.02); }
TEST(AllOps, RowKernelsOfCompositesAgreeWithEvaluation) { expect_all(true, false, 2e-5, 0.02); }

}  // namespace
}  // namespace stepc::test
