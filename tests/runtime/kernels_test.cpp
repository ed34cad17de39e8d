// Emitted code against the reference interpreter, and the bit rule.
#include "ir/builder.h"
#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/registry.h"
#include "runtime/cpu/scratch.h"
#include "tests/runtime/run_graph.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace stepc::test {
namespace {

ValueId data(Graph& graph, const Type& type, const char* name) { return graph.add_input(type, InputRole::data, name); }

// Every element within `tolerance` of the interpreter's, relative to the larger of 1 and its magnitude.
void expect_agreement(const Graph& graph, const Tensors& inputs, double tolerance = 1e-5) {
  const Tensors outputs = run_on_cpu(graph, inputs);
  const auto expected = run_on_interpreter(graph, inputs);
  for (const auto& [name, tensor] : outputs) {
    const RefTensor& reference = expected.at(name);
    ASSERT_EQ(tensor.type(), reference.type) << name;
    for (int64_t i = 0; i < tensor.type().shape.numel(); ++i) {
      const double own = element(tensor.view(), i);
      const double want = reference.at(i);
      if (std::isnan(want) ? std::isnan(own) : own == want) continue;
      ASSERT_NEAR(own, want, tolerance * std::max(1.0, std::fabs(want))) << name << " element " << i;
    }
  }
}

TEST(Kernels, BroadcastAndStridedViews) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {6, 5, 8}}, "x");
  const ValueId y = data(graph, {Dtype::f32, {5, 1}}, "y");
  const ValueId t = b.transpose(x, {2, 0, 1});
  graph.add_output(b.add(x, y), OutputRole::output, "broadcast");
  graph.add_output(b.mul(t, t), OutputRole::output, "transposed");
  graph.add_output(b.reshape(t, {48, 5}), OutputRole::output, "copied");
  graph.add_output(b.neg(b.slice(x, {4, 0, 7}, {2, 5, 4}, {-3, 1, -2})), OutputRole::output, "reversed");
  graph.add_output(b.add(b.expand(y, {3, 5, 4}), 1), OutputRole::output, "expanded");
  expect_agreement(graph,
                   {{"x", pseudo_random({Dtype::f32, {6, 5, 8}}, 1)}, {"y", pseudo_random({Dtype::f32, {5, 1}}, 2)}});
}

TEST(Kernels, LargeTransposedCopyIsTiled) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {3, 70, 130}}, "x");
  graph.add_output(b.reshape(b.transpose(x, {0, 2, 1}), {390, 70}), OutputRole::output, "y");
  expect_agreement(graph, {{"x", pseudo_random({Dtype::f32, {3, 70, 130}}, 1)}});
}

class RowSizes : public testing::TestWithParam<int64_t> {};

TEST_P(RowSizes, ReductionsOfEveryKind) {
  const int64_t n = GetParam();
  for (const bool rows : {true, false}) {
    Graph graph;
    Builder b(graph);
    const Shape shape = rows ? Shape{3, n} : Shape{n, 3};
    const int64_t axis = rows ? 1 : 0;
    const ValueId x = data(graph, {Dtype::f32, shape}, "x");
    const ValueId i = data(graph, {Dtype::i32, shape}, "i");
    for (const Op op : {Op::reduce_sum, Op::reduce_max, Op::reduce_min, Op::reduce_prod}) {
      graph.add_output(b.reduce(op, x, {axis}, false), OutputRole::output, fmt::format("{}_f32", op_name(op)));
      graph.add_output(b.reduce(op, i, {axis}, true), OutputRole::output, fmt::format("{}_i32", op_name(op)));
    }
    graph.add_output(b.reduce_sum(b.mul(x, x), {0, 1}, false), OutputRole::output, "all");
    if (n > 0)
      for (const Op op : {Op::arg_max, Op::arg_min})
        graph.add_output(b.make(op, {b.cast(i, Dtype::f32)}, {{"axis", axis}}), OutputRole::output,
                         std::string(op_name(op)));
    expect_agreement(
        graph, {{"x", pseudo_random({Dtype::f32, shape}, 3)}, {"i", pseudo_random({Dtype::i32, shape}, 4, -2, 2)}},
        1e-5 * std::max(1.0, std::sqrt(static_cast<double>(n)) / 8));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RowSizes, testing::Values(0, 1, 2, 15, 16, 17, 255, 256, 257, 511, 4095, 4097, 200003));

TEST(Kernels, ReductionsOverSeveralAxes) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {4, 5, 6, 7}}, "x");
  const std::vector<std::vector<int64_t>> all = {{0, 2}, {1, 3}, {0, 1, 2}, {1, 2, 3}, {0, 3}, {2}, {}};
  for (const auto& axes : all)
    graph.add_output(b.make(Op::reduce_sum, {x}, {{"axes", axes}, {"keepdims", false}}), OutputRole::output,
                     fmt::format("sum_{}", fmt::join(axes, "_")));
  const ValueId t = b.transpose(x, {3, 1, 0, 2});
  for (const auto& axes : all)
    graph.add_output(b.make(Op::reduce_max, {t}, {{"axes", axes}, {"keepdims", true}}), OutputRole::output,
                     fmt::format("max_{}", fmt::join(axes, "_")));
  expect_agreement(graph, {{"x", pseudo_random({Dtype::f32, {4, 5, 6, 7}}, 1)}});
}

// There are as many rows as points of a row, and no index of one is affine in the axes of the other.
TEST(Kernels, RowsAsManyAsTheirPoints) {
  Graph graph;
  Builder b(graph);
  const Type type{Dtype::f32, {2, 3, 3, 2}};
  const ValueId x = data(graph, type, "x");
  graph.add_output(b.reduce_sum(x, {2, 3}, false), OutputRole::output, "rows");
  graph.add_output(b.reduce_sum(x, {0, 1}, true), OutputRole::output, "columns");
  expect_agreement(graph, {{"x", pseudo_random(type, 1)}});
}

TEST(Kernels, NanAndInfinityInExtremes) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {3, 40}}, "x");
  graph.add_output(b.reduce(Op::reduce_max, x, {1}, false), OutputRole::output, "max");
  graph.add_output(b.reduce(Op::reduce_min, x, {0}, false), OutputRole::output, "min");
  graph.add_output(b.make(Op::arg_max, {x}, {{"axis", int64_t{1}}}), OutputRole::output, "arg");
  Tensor values = pseudo_random({Dtype::f32, {3, 40}}, 9);
  set_element(values, 21, std::nan(""));
  set_element(values, 50, -INFINITY);
  set_element(values, 90, INFINITY);
  expect_agreement(graph, {{"x", values}});
}

TEST(Kernels, MatrixProducts) {
  Graph graph;
  Builder b(graph);
  const ValueId q = data(graph, {Dtype::f32, {2, 9, 3, 4}}, "q");
  const ValueId k = data(graph, {Dtype::f32, {2, 7, 3, 4}}, "k");
  const ValueId w = data(graph, {Dtype::f32, {12, 5}}, "w");
  graph.add_output(b.contraction(q, k, "bihk,bjhk->bhij"), OutputRole::output, "scores");
  graph.add_output(b.contraction(b.transpose(q, {0, 2, 1, 3}), k, "bhik,bjhk->bihj"), OutputRole::output, "other");
  graph.add_output(b.matmul(b.reshape(q, {18, 12}), w), OutputRole::output, "projected");
  graph.add_output(b.contraction(w, b.reshape(q, {18, 12}), "kn,mk->nm"), OutputRole::output, "transposed");
  graph.add_output(b.contraction(q, w, "bthk,xy->bhkxy"), OutputRole::output, "outer");
  graph.add_output(b.contraction(q, k, "bihk,bjhk->ij"), OutputRole::output, "summed");
  graph.add_output(b.contraction(b.cast(w, Dtype::f64), b.cast(w, Dtype::f64), "ij,kj->ik"), OutputRole::output, "f64");
  expect_agreement(graph, {{"q", pseudo_random({Dtype::f32, {2, 9, 3, 4}}, 1)},
                           {"k", pseudo_random({Dtype::f32, {2, 7, 3, 4}}, 2)},
                           {"w", pseudo_random({Dtype::f32, {12, 5}}, 3)}});
}

// fused { contraction; add; ... }: what is added to a product.
ValueId product_with(Builder& b, Graph& graph, std::string_view spec, std::vector<ValueId> operands) {
  Graph body;
  Builder inner(body);
  std::vector<ValueId> inputs;
  for (const ValueId operand : operands)
    inputs.push_back(body.add_input(graph.type(operand), InputRole::data, fmt::format("{}", inputs.size())));
  ValueId sum = inner.contraction(inputs[0], inputs[1], spec);
  for (size_t i = 2; i < inputs.size(); ++i) sum = i % 2 == 0 ? inner.add(sum, inputs[i]) : inner.add(inputs[i], sum);
  body.add_output(sum, OutputRole::output, "sum");
  return graph.node(b.make_fused(std::move(operands), std::move(body))).outputs[0];
}

TEST(Kernels, ProductsWithAddends) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {2, 9, 300}}, "x");
  const ValueId w = data(graph, {Dtype::f32, {300, 5}}, "w");
  const ValueId bias = data(graph, {Dtype::f32, {5}}, "bias");
  const ValueId rows = data(graph, {Dtype::f32, {9, 1}}, "rows");
  const ValueId full = data(graph, {Dtype::f32, {2, 9, 5}}, "full");
  const ValueId turned = b.transpose(data(graph, {Dtype::f32, {5, 9, 2}}, "turned"), {2, 1, 0});
  const auto add = [&](std::string_view name, std::string_view spec, std::vector<ValueId> operands) {
    graph.add_output(product_with(b, graph, spec, std::move(operands)), OutputRole::output, std::string(name));
  };
  add("bias", "bij,jk->bik", {x, w, bias});
  add("rows", "bij,jk->bik", {x, w, rows});
  add("full", "bij,jk->bik", {x, w, full});
  add("turned", "bij,jk->bik", {x, w, turned});
  add("all", "bij,jk->bik", {x, w, bias, rows, full, turned});
  add("columns", "bij,jk->kib", {x, w, b.transpose(full, {2, 1, 0})});
  add("swapped", "jk,bij->bik", {w, x, bias});  // the body's first input has the number of the graph's second
  add("per batch", "bij,bkj->bik", {x, x, rows});
  add("f64", "ij,ik->jk", {b.cast(w, Dtype::f64), b.cast(w, Dtype::f64), b.cast(bias, Dtype::f64)});
  const Layouts layouts(graph);
  for (const NodeId id : graph.order()) {
    if (graph.node(id).op != Op::fused || graph.dtype(graph.node(id).outputs[0]) != Dtype::f32) continue;
    EXPECT_EQ(describe_kernel(graph, id, layouts_of(layouts)).kind, KernelKind::contraction);
  }
  expect_agreement(graph, {{"x", pseudo_random({Dtype::f32, {2, 9, 300}}, 1)},
                           {"w", pseudo_random({Dtype::f32, {300, 5}}, 2)},
                           {"bias", pseudo_random({Dtype::f32, {5}}, 3)},
                           {"rows", pseudo_random({Dtype::f32, {9, 1}}, 4)},
                           {"full", pseudo_random({Dtype::f32, {2, 9, 5}}, 5)},
                           {"turned", pseudo_random({Dtype::f32, {5, 9, 2}}, 6)}});
}

// The addend dies here, so the product is added to it where it lies.
TEST(Kernels, ProductInPlaceOfItsAddend) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {9, 300}}, "x");
  const ValueId w = data(graph, {Dtype::f32, {300, 5}}, "w");
  const ValueId bias = data(graph, {Dtype::f32, {5}}, "bias");
  const ValueId addend = b.neg(data(graph, {Dtype::f32, {9, 5}}, "a"));
  const ValueId y = product_with(b, graph, "ij,jk->ik", {x, w, bias, addend});
  graph.add_output(y, OutputRole::output, "y");
  TrainOptions options;
  PassContext context(options);
  find_pass("schedule").run(graph, context);
  find_pass("plan-memory").run(graph, context);
  EXPECT_EQ(context.plan->block_of_value[static_cast<size_t>(y.index)],
            context.plan->block_of_value[static_cast<size_t>(addend.index)]);
  const Tensors inputs{{"x", pseudo_random({Dtype::f32, {9, 300}}, 1)},
                       {"w", pseudo_random({Dtype::f32, {300, 5}}, 2)},
                       {"bias", pseudo_random({Dtype::f32, {5}}, 3)},
                       {"a", pseudo_random({Dtype::f32, {9, 5}}, 4)}};
  EXPECT_TRUE(run_on_cpu(graph, *context.plan, inputs, 2) == run_on_cpu(graph, inputs));
}

TEST(Kernels, IndexedMovement) {
  Graph graph;
  Builder b(graph);
  const ValueId table = data(graph, {Dtype::f32, {11, 6}}, "table");
  const ValueId ids = data(graph, {Dtype::i64, {2, 4}}, "ids");
  const ValueId rows = b.gather(table, ids, 0);
  graph.add_output(rows, OutputRole::output, "rows");
  graph.add_output(b.make(Op::scatter_add, {b.zeros_like(table), ids, rows}, {{"axis", int64_t{0}}}),
                   OutputRole::output, "added");
  graph.add_output(b.concat({table, b.mul(table, 2), b.slice_axis(table, 1, 1, 2)}, 1), OutputRole::output, "joined");
  graph.add_output(b.pad(table, {1, 2}, {0, 3}, {2, 1}, 7), OutputRole::output, "padded");
  graph.add_output(b.make(Op::cumsum, {table}, {{"axis", int64_t{0}}, {"exclusive", true}, {"reverse", true}}),
                   OutputRole::output, "scanned");
  const NodeId top = b.make_node(Op::top_k, {table}, {{"k", int64_t{3}}, {"axis", int64_t{1}}});
  graph.add_output(graph.node(top).outputs[0], OutputRole::output, "best");
  graph.add_output(graph.node(top).outputs[1], OutputRole::output, "places");
  expect_agreement(graph, {{"table", pseudo_random({Dtype::f32, {11, 6}}, 1)},
                           {"ids", pseudo_random({Dtype::i64, {2, 4}}, 2, -11, 11)}});
}

TEST(Kernels, IndexOutOfRangeIsRefusedWithItsNode) {
  Graph graph;
  Builder b(graph, {Phase::forward, {"/embed/Gather"}, "embed"});
  const ValueId table = data(graph, {Dtype::f32, {11, 6}}, "table");
  const ValueId ids = data(graph, {Dtype::i64, {3}}, "ids");
  graph.add_output(b.gather(table, ids, 0), OutputRole::output, "rows");
  const std::vector<int64_t> bad{3, 11, -12};
  const Tensors inputs{{"table", Tensor({Dtype::f32, {11, 6}})}, {"ids", Tensor::of_i64(bad, {3})}};
  try {
    run_on_cpu(graph, inputs);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("node '/embed/Gather' (gather): index -12 is out of range for an axis "
                                                 "of size 11"));
  }
}

// A label that is no class is refused by the decomposition that runs, not only by the interpreter's composite.
TEST(Kernels, LabelOutOfRangeIsRefused) {
  for (const int64_t label : {int64_t{5}, int64_t{-1}}) {
    Graph graph;
    Builder b(graph, {Phase::loss, {}, ""});
    const ValueId x = data(graph, {Dtype::f32, {2, 5}}, "x");
    const ValueId labels = data(graph, {Dtype::i64, {2}}, "labels");
    const NodeId node = b.make_node(Op::cross_entropy, {x, labels}, {{"reduction", "mean"}});
    const std::vector<ValueId> parts = op_def(Op::cross_entropy).decompose(b, graph, node);
    graph.add_output(parts[0], OutputRole::loss, "loss");
    graph.erase(node);
    const std::vector<int64_t> values{-100, label};
    EXPECT_THROW(run_on_cpu(graph, {{"x", Tensor({Dtype::f32, {2, 5}})}, {"labels", Tensor::of_i64(values, {2})}}),
                 UserError);
  }
}

// Several reductions of one row, each needing the one before, and results of both shapes: softmax in one kernel.
TEST(Kernels, RowBodiesWithSeveralReductions) {
  Graph body;
  Builder inner(body);
  const ValueId in = data(body, {Dtype::f32, {2, 7, 300}}, "a");
  const ValueId most = inner.reduce(Op::reduce_max, in, {2}, true);
  const ValueId shifted = inner.unary(Op::exp, inner.sub(in, inner.expand(most, {2, 7, 300})));
  const ValueId sum = inner.reduce_sum(shifted, {2}, true);
  body.add_output(inner.div(shifted, sum), OutputRole::output, "softmax");
  body.add_output(inner.reshape(inner.add(most, inner.unary(Op::log, sum)), {2, 7}), OutputRole::output, "norm");
  Graph graph;
  Builder b(graph);
  const NodeId node = b.make_fused({data(graph, {Dtype::f32, {2, 7, 300}}, "x")}, std::move(body));
  graph.add_output(graph.node(node).outputs[0], OutputRole::output, "softmax");
  graph.add_output(graph.node(node).outputs[1], OutputRole::output, "norm");
  expect_agreement(graph, {{"x", pseudo_random({Dtype::f32, {2, 7, 300}}, 1, -20, 20)}});
}

// Views inside a fused body: rotate halves and scale, over a reshape that splits an axis.
TEST(Kernels, BodiesWithViews) {
  Graph body;
  Builder inner(body);
  const ValueId in = data(body, {Dtype::f32, {5, 24}}, "a");
  const ValueId heads = inner.transpose(inner.reshape(in, {5, 3, 8}), {1, 0, 2});
  const ValueId low = inner.slice_axis(heads, 2, 0, 4);
  const ValueId high = inner.slice_axis(heads, 2, 4, 4);
  const ValueId turned = inner.concat({inner.neg(high), low}, 2);
  const ValueId place = inner.iota(Dtype::f32, {3, 5, 8}, 1);
  body.add_output(inner.add(inner.mul(heads, 0.5), inner.mul(turned, place)), OutputRole::output, "y");
  Graph graph;
  Builder b(graph);
  const NodeId node = b.make_fused({data(graph, {Dtype::f32, {5, 24}}, "x")}, std::move(body));
  graph.add_output(graph.node(node).outputs[0], OutputRole::output, "y");
  expect_agreement(graph, {{"x", pseudo_random({Dtype::f32, {5, 24}}, 1)}});
}

TEST(Kernels, ScalarsAndEmptyTensors) {
  Graph graph;
  Builder b(graph);
  const ValueId s = data(graph, {Dtype::f32, {}}, "s");
  const ValueId e = data(graph, {Dtype::f32, {0, 4}}, "e");
  graph.add_output(b.mul(b.unary(Op::exp, s), 3), OutputRole::output, "scalar");
  graph.add_output(b.add(e, s), OutputRole::output, "empty");
  graph.add_output(b.reduce_sum(e, {0}, false), OutputRole::output, "zeros");
  graph.add_output(b.reduce(Op::reduce_max, e, {0}, false), OutputRole::output, "lowest");
  graph.add_output(b.matmul(b.transpose(e, {1, 0}), e), OutputRole::output, "product");
  expect_agreement(graph, {{"s", pseudo_random({Dtype::f32, {}}, 1)}, {"e", Tensor({Dtype::f32, {0, 4}})}});
}

TEST(Kernels, SixteenBitFloats) {
  Graph graph;
  Builder b(graph);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const std::string name(dtype_name(dtype));
    const ValueId x = graph.add_input({dtype, {33, 17}}, InputRole::data, name);
    graph.add_output(b.mul(b.add(x, x), x), OutputRole::output, name + "_map");
    graph.add_output(b.reduce_sum(x, {1}, false), OutputRole::output, name + "_sum");
    graph.add_output(b.contraction(x, x, "ij,kj->ik"), OutputRole::output, name + "_product");
  }
  expect_agreement(
      graph, {{"f16", pseudo_random({Dtype::f16, {33, 17}}, 1)}, {"bf16", pseudo_random({Dtype::bf16, {33, 17}}, 2)}},
      0.01);
}

// A chain of everything that a training step does, at sizes where threads and segments matter.
Graph chain(bool fused) {
  Graph graph;
  Builder b(graph);
  const Type type{Dtype::f32, {37, 5003}};
  const ValueId x = data(graph, type, "x");
  const ValueId bias = data(graph, {Dtype::f32, {5003}}, "bias");
  const auto activation = [](Builder& builder, ValueId a, ValueId c) {
    const ValueId sum = builder.add(a, c);
    return builder.mul(builder.unary(Op::tanh, sum), builder.unary(Op::sigmoid, builder.mul(sum, 1.7)));
  };
  ValueId y;
  if (fused) {
    Graph body;
    Builder inner(body);
    const ValueId in = data(body, type, "a");
    const ValueId c = data(body, {Dtype::f32, {5003}}, "c");
    body.add_output(activation(inner, in, c), OutputRole::output, "y");
    y = graph.node(b.make_fused({x, bias}, std::move(body))).outputs[0];
  } else {
    y = activation(b, x, bias);
  }
  graph.add_output(y, OutputRole::output, "y");
  graph.add_output(b.reduce_sum(y, {1}, false), OutputRole::output, "rows");
  graph.add_output(b.reduce_sum(y, {0}, false), OutputRole::output, "columns");
  graph.add_output(b.reduce_sum(b.mul(y, y), {0, 1}, false), OutputRole::output, "norm");
  return graph;
}

TEST(BitRule, NeitherThreadsNorFusionChangeABit) {
  const Tensors inputs{{"x", pseudo_random({Dtype::f32, {37, 5003}}, 1, -3, 3)},
                       {"bias", pseudo_random({Dtype::f32, {5003}}, 2)}};
  const Tensors one = run_on_cpu(chain(false), inputs, 1);
  for (const int threads : {2, 3}) EXPECT_TRUE(run_on_cpu(chain(false), inputs, threads) == one) << threads;
  EXPECT_TRUE(run_on_cpu(chain(true), inputs, 2) == one);
}

// A reduction's order is that of its own shape, whether its operand is stored, computed on the way or read transposed.
TEST(BitRule, ReductionOrderDependsOnTheShapeAlone) {
  const auto sums = [](bool transposed, bool fused) {
    Graph graph;
    Builder b(graph);
    const Shape shape = transposed ? Shape{5003, 37} : Shape{37, 5003};
    ValueId x = data(graph, {Dtype::f32, shape}, "x");
    if (transposed) x = b.transpose(x, {1, 0});
    if (fused) {
      Graph body;
      Builder inner(body);
      const ValueId in = data(body, {Dtype::f32, {37, 5003}}, "a");
      body.add_output(inner.reduce_sum(inner.mul(in, 0.5), {1}, false), OutputRole::output, "y");
      graph.add_output(graph.node(b.make_fused({x}, std::move(body))).outputs[0], OutputRole::output, "y");
    } else {
      graph.add_output(b.reduce_sum(b.mul(x, 0.5), {1}, false), OutputRole::output, "y");
    }
    Tensor values({Dtype::f32, shape});
    const Tensor source = pseudo_random({Dtype::f32, {37, 5003}}, 5);
    for (int64_t i = 0; i < 37; ++i)
      for (int64_t j = 0; j < 5003; ++j)
        set_element(values, transposed ? j * 37 + i : i * 5003 + j, element(source.view(), i * 5003 + j));
    return run_on_cpu(graph, {{"x", values}}).at("y");
  };
  const Tensor plain = sums(false, false);
  EXPECT_TRUE(sums(true, false) == plain);
  EXPECT_TRUE(sums(false, true) == plain);
  EXPECT_TRUE(sums(true, true) == plain);
}

Plan planned(Graph& graph) {
  const TrainOptions options;
  PassContext context(options);
  const CpuScratch scratch;
  context.scratch = &scratch;
  find_pass("schedule").run(graph, context);
  find_pass("plan-memory").run(graph, context);
  return *context.plan;
}

// The planner's arena: blocks reused, results over operands. Bits are those of a plan that shares nothing, and no byte
// lies outside what was planned.
TEST(Plans, InPlaceAndSharedPlacesChangeNoBit) {
  Graph graph = chain(false);
  const Tensors inputs{{"x", pseudo_random({Dtype::f32, {37, 5003}}, 1, -3, 3)},
                       {"bias", pseudo_random({Dtype::f32, {5003}}, 2)}};
  const Plan plan = planned(graph);
  const Plan plain = plain_plan(graph);
  EXPECT_LT(plan.arena_bytes, plain.arena_bytes);
  EXPECT_TRUE(run_on_cpu(graph, plan, inputs, 2) == run_on_cpu(graph, plain, inputs, 2));
}

// Also by the last launch, after which nothing is read but outputs.
TEST(Plans, OutputsAreNotOverwritten) {
  Graph graph;
  Builder b(graph);
  const ValueId y = b.unary(Op::exp, data(graph, {Dtype::f32, {5}}, "x"));
  graph.add_output(y, OutputRole::output, "y");
  graph.add_output(b.unary(Op::neg, y), OutputRole::output, "z");
  const Tensors inputs{{"x", pseudo_random({Dtype::f32, {5}}, 1)}};
  const Plan plan = planned(graph);
  EXPECT_TRUE(run_on_cpu(graph, plan, inputs, 2) == run_on_cpu(graph, plain_plan(graph), inputs, 2));
}

// Rows that are reduced, along and across, and then stored over what was read: a chain of them takes one place.
TEST(Plans, RowsAreStoredOverTheirOperand) {
  const Shape shape{150, 5003};
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, shape}, "x");
  Graph body;
  Builder inner(body);
  const ValueId a = data(body, {Dtype::f32, shape}, "a");
  const ValueId y = inner.sub(a, inner.mul(inner.reduce_sum(a, {1}, true), 0x1p-12));
  body.add_output(y, OutputRole::output, "y");
  body.add_output(inner.reduce_sum(inner.mul(a, y), {0}, false), OutputRole::output, "sum");
  const ValueId start = b.mul(x, 2);
  const NodeId rows = b.make_fused({start}, std::move(body));
  const ValueId softmax = b.make(Op::softmax, {graph.node(rows).outputs[0]}, {{"axis", int64_t{1}}});
  graph.add_output(b.add(softmax, graph.node(rows).outputs[1]), OutputRole::output, "z");
  const Tensors inputs{{"x", pseudo_random({Dtype::f32, shape}, 1, -3, 3)}};
  const Plan plan = planned(graph);
  EXPECT_LT(plan.arena_bytes, 5 * graph.type(x).bytes() / 2);  // x, one place for all that follows, sums
  EXPECT_TRUE(run_on_cpu(graph, plan, inputs, 2) == run_on_cpu(graph, plain_plan(graph), inputs, 2));
}

TEST(Plans, ScattersGoOntoTheirBase) {
  Graph graph;
  Builder b(graph);
  const ValueId x = data(graph, {Dtype::f32, {50, 300}}, "x");
  const ValueId ids = data(graph, {Dtype::i64, {70}}, "ids");
  const ValueId u = data(graph, {Dtype::f32, {70, 300}}, "u");
  const ValueId base = b.mul(x, 3);
  graph.add_output(b.make(Op::scatter_add, {base, ids, u}, {{"axis", int64_t{0}}}), OutputRole::output, "y");
  const Tensors inputs{{"x", pseudo_random({Dtype::f32, {50, 300}}, 1)},
                       {"ids", pseudo_random({Dtype::i64, {70}}, 2, 0, 50)},
                       {"u", pseudo_random({Dtype::f32, {70, 300}}, 3)}};
  const Plan plan = planned(graph);
  EXPECT_EQ(plan.block_of_value[static_cast<size_t>(graph.outputs()[0].value.index)],
            plan.block_of_value[static_cast<size_t>(base.index)]);
  EXPECT_TRUE(run_on_cpu(graph, plan, inputs, 2) == run_on_cpu(graph, plain_plan(graph), inputs, 2));
}

}  // namespace
}  // namespace stepc::test
