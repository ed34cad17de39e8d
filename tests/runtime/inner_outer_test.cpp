// Kernels that reduce along rows and across them: one kernel, and the bits of separate ones.
#include "ir/builder.h"
#include "ir/kernel.h"
#include "tests/runtime/run_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stepc::test {
namespace {

ValueId data(Graph& graph, const Shape& shape, const char* name) {
  return graph.add_input({Dtype::f32, shape}, InputRole::data, name);
}

// The backward of a layer norm and of the bias before it: gradients along rows and across them.
void norm_backward(Builder& b, Graph& graph, ValueId x, ValueId r, ValueId g, ValueId w) {
  const auto last = static_cast<int64_t>(graph.shape(x).rank()) - 1;
  std::vector<int64_t> rows;
  for (int64_t axis = 0; axis < last; ++axis) rows.push_back(axis);
  const ValueId normal = b.mul(x, r);
  const ValueId scaled = b.mul(g, w);
  const ValueId along = b.reduce_sum(b.mul(scaled, normal), {last}, true);
  const ValueId dx = b.mul(r, b.sub(scaled, b.mul(normal, along)));
  graph.add_output(dx, OutputRole::output, "dx");
  graph.add_output(b.reduce_sum(b.mul(g, normal), rows, false), OutputRole::output, "dw");
  graph.add_output(b.add(b.reduce_sum(g, rows, false), w), OutputRole::output, "db");
  graph.add_output(b.reduce(Op::reduce_max, dx, rows, true), OutputRole::output, "largest");
}

void scale_with_sums(Builder& b, Graph& graph, ValueId x, ValueId, ValueId g, ValueId) {
  const ValueId y = b.mul(x, g);
  graph.add_output(y, OutputRole::output, "y");
  graph.add_output(b.reduce_sum(y, {0, 1}, false), OutputRole::output, "sum");
}

using Formula = void (*)(Builder&, Graph&, ValueId, ValueId, ValueId, ValueId);

Graph graph_of(Formula formula, const Shape& shape, bool fused) {
  Dims per_row = shape.dims();
  per_row.back() = 1;
  Graph graph;
  Builder b(graph);
  const Shape row{shape.dims().back()};
  const std::vector<ValueId> inputs{data(graph, shape, "x"), data(graph, Shape(per_row), "r"), data(graph, shape, "g"),
                                    data(graph, row, "w")};
  if (!fused) {
    formula(b, graph, inputs[0], inputs[1], inputs[2], inputs[3]);
    return graph;
  }
  Graph body;
  Builder inner(body);
  std::vector<ValueId> operands;
  for (const ValueId input : inputs) operands.push_back(data(body, graph.shape(input), "a"));
  formula(inner, body, operands[0], operands[1], operands[2], operands[3]);
  std::vector<std::string> names;
  for (const GraphOutput& output : body.outputs()) names.push_back(output.name);
  const NodeId node = b.make_fused(inputs, std::move(body));
  for (size_t i = 0; i < names.size(); ++i) graph.add_output(graph.node(node).outputs[i], OutputRole::output, names[i]);
  return graph;
}

Tensors inputs_of(const Graph& graph) {
  Tensors inputs;
  uint32_t seed = 0;
  for (const GraphInput& input : graph.inputs())
    inputs.emplace(input.name, pseudo_random(graph.type(input.value), ++seed, -2, 2));
  return inputs;
}

class InnerOuter : public testing::TestWithParam<Shape> {};

TEST_P(InnerOuter, OneKernelHasTheBitsOfSeveral) {
  for (const Formula formula : {norm_backward, scale_with_sums}) {
    const Graph fused = graph_of(formula, GetParam(), true);
    const Plan plan = plain_plan(fused);
    EXPECT_EQ(kernel_kind_name(describe_kernel(fused, fused.order()[0], layouts_of(plan)).kind), "inner_outer");
    const Graph plain = graph_of(formula, GetParam(), false);
    const Tensors inputs = inputs_of(plain);
    const Tensors expected = run_on_cpu(plain, inputs, 2);
    for (const int threads : {1, 2, 3}) EXPECT_TRUE(run_on_cpu(fused, inputs, threads) == expected) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, InnerOuter,
                         testing::Values(Shape{1, 2, 2}, Shape{3, 21, 5}, Shape{2, 32, 17}, Shape{5, 13, 256},
                                         Shape{2, 200, 300}, Shape{1, 70, 4099}, Shape{2, 3, 20003}));

// Where several axes make a row, a column is numbered over all of them.
TEST(InnerOuterKernels, RowsOfSeveralAxes) {
  const auto build = [](bool fused) {
    Graph graph;
    Builder b(graph);
    const Shape shape{150, 6, 11};
    const ValueId x = data(graph, shape, "x");
    const auto formula = [](Builder& builder, Graph& into, ValueId value) {
      const ValueId y = builder.mul(value, builder.reduce_sum(value, {1, 2}, true));
      into.add_output(y, OutputRole::output, "y");
      into.add_output(builder.reshape(builder.reduce_sum(y, {0}, false), {66}), OutputRole::output, "sum");
    };
    if (!fused) {
      formula(b, graph, x);
      return graph;
    }
    Graph body;
    Builder inner(body);
    formula(inner, body, data(body, shape, "a"));
    const NodeId node = b.make_fused({x}, std::move(body));
    graph.add_output(graph.node(node).outputs[0], OutputRole::output, "y");
    graph.add_output(graph.node(node).outputs[1], OutputRole::output, "sum");
    return graph;
  };
  const Graph plain = build(false);
  const Tensors inputs = inputs_of(plain);
  EXPECT_TRUE(run_on_cpu(build(true), inputs) == run_on_cpu(plain, inputs));
}

// What rows wait for cannot be a column of the same kernel.
TEST(InnerOuterKernels, RowsDoNotWaitForColumns) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {8, 5}, "x");
  const ValueId mean = b.reduce_sum(x, {0}, false);
  const ValueId y = b.sub(b.mul(x, b.reduce_sum(x, {1}, true)), mean);
  graph.add_output(y, OutputRole::output, "y");
  const Region region{graph.order(), {y}};
  const Plan plan = plain_plan(graph);
  const auto described = describe_region(graph, region, layouts_of(plan));
  ASSERT_TRUE(std::holds_alternative<std::string>(described));
  EXPECT_EQ(std::get<std::string>(described), "rows that wait for a reduction across rows");
}

}  // namespace
}  // namespace stepc::test
