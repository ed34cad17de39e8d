#include "ir/interpreter.h"

#include "ir/parser.h"
#include "ir/support/error.h"

#include <gtest/gtest.h>

namespace stepc {
namespace {

RefTensor tensor(Type type, std::vector<double> numbers) {
  RefTensor result(std::move(type));
  for (size_t i = 0; i < numbers.size(); ++i) result.set(static_cast<int64_t>(i), numbers[i]);
  return result;
}

TEST(Interpreter, RunsNodesInOrderAndReturnsOutputsStatesAndWantedValues) {
  const Graph graph = parse(R"(graph @g {
    %x: f32[2] = input data "x"
    %m: f32[2] = input state "m"
    %s: f32[2] = add %x, %m
    %y: f32[2] = mul %s, %s
    output output "y" %y
    output output "also" %y
    state %m -> %s
  })");
  const Type type{Dtype::f32, {2}};
  const ValueId s = graph.node(graph.first()).outputs[0];
  const Interpretation run = interpret(graph, {{"x", tensor(type, {1, 2})}, {"m", tensor(type, {10, 20})}},
                                       RefPrecision::f32, std::span(&s, 1));
  EXPECT_EQ(run.outputs.at("y").real, (std::vector<double>{121, 484}));
  EXPECT_EQ(run.outputs.at("also").real, run.outputs.at("y").real);
  EXPECT_EQ(run.states.at("m").real, (std::vector<double>{11, 22}));
  EXPECT_EQ(run.values.at(s).real, (std::vector<double>{11, 22}));
}

TEST(Interpreter, RoundsInF32AndNotInF64) {
  const Graph graph = parse(R"(graph @g {
    %x: f32[1] = input data "x"
    %third: f32[] = constant {data=[0x1p-30]}
    %y: f32[1] = add %x, %third
    output output "y" %y
  })");
  const std::map<std::string, RefTensor> inputs{{"x", tensor({Dtype::f32, {1}}, {1})}};
  EXPECT_EQ(interpret(graph, inputs, RefPrecision::f32).outputs.at("y").real[0], 1);
  EXPECT_EQ(interpret(graph, inputs, RefPrecision::f64).outputs.at("y").real[0], 1 + 0x1p-30);
}

TEST(Interpreter, AFusedNodeIsItsBody) {
  const Graph graph = parse(R"(graph @g {
    %x: f32[2] = input data "x"
    %y, %z: f32[2], f32[] = fused %x body {
      %a: f32[2] = input data "a"
      %b: f32[2] = neg %a
      %c: f32[] = reduce_sum %b {axes=[0], keepdims=false}
      output output "b" %b
      output output "c" %c
    }
    output output "y" %y
    output output "z" %z
  })");
  const Interpretation run = interpret(graph, {{"x", tensor({Dtype::f32, {2}}, {1, 2})}}, RefPrecision::f32);
  EXPECT_EQ(run.outputs.at("y").real, (std::vector<double>{-1, -2}));
  EXPECT_EQ(run.outputs.at("z").real, (std::vector<double>{-3}));
}

TEST(Interpreter, ChecksInputs) {
  const Graph graph = parse("graph @g { %x: f32[2] = input data \"x\" output output \"x\" %x }");
  const RefTensor good = tensor({Dtype::f32, {2}}, {1, 2});
  EXPECT_NO_THROW(interpret(graph, {{"x", good}}, RefPrecision::f32));
  EXPECT_THROW(interpret(graph, {}, RefPrecision::f32), UserError);
  EXPECT_THROW(interpret(graph, {{"x", good}, {"y", good}}, RefPrecision::f32), UserError);
  EXPECT_THROW(interpret(graph, {{"x", tensor({Dtype::f32, {3}}, {1, 2, 3})}}, RefPrecision::f32), UserError);
  EXPECT_THROW(interpret(graph, {{"x", tensor({Dtype::f64, {2}}, {1, 2})}}, RefPrecision::f32), UserError);
}

}  // namespace
}  // namespace stepc
