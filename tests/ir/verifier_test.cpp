// Rules that text cannot break, because the parser infers what they are about.

#include "ir/verifier.h"

#include "ir/parser.h"

#include <gtest/gtest.h>

namespace stepc {
namespace {

Graph chain() {
  return parse(R"(graph @g {
    %x: f32[2,3] = input data "x"
    %w: f32[3] = input weight "w" trainable
    %y: f32[2,3] = mul %x, %w
    %z: f32[2] = reduce_sum %y {axes=[1], keepdims=false}
    output output "z" %z
  })");
}

std::string broken_rule(const Graph& graph) {
  try {
    verify(graph);
  } catch (const VerifyError& error) {
    return error.rule();
  }
  return "";
}

TEST(Verifier, AcceptsWhatTheParserMakes) { EXPECT_EQ(broken_rule(chain()), ""); }

TEST(Verifier, NamesRuleAndNode) {
  Graph graph = chain();
  graph.set_attr(graph.last(), "axes", std::vector<int64_t>{0});
  try {
    verify(graph);
    FAIL();
  } catch (const VerifyError& error) {
    EXPECT_EQ(error.rule(), "types_inferred");
    EXPECT_EQ(error.node(), graph.last());
    EXPECT_NE(std::string(error.what()).find("reduce_sum %y"), std::string::npos) << error.what();
  }
}

TEST(Verifier, UnknownAttribute) {
  Graph graph = chain();
  graph.set_attr(graph.last(), "axis", int64_t{1});
  EXPECT_EQ(broken_rule(graph), "attrs_complete");
}

TEST(Verifier, AttributeOfAnotherKind) {
  Graph graph = chain();
  graph.set_attr(graph.last(), "keepdims", int64_t{0});
  EXPECT_EQ(broken_rule(graph), "attrs_complete");
}

TEST(Verifier, OperandAfterItsReader) {
  Graph graph = chain();
  graph.move_before(graph.last(), graph.first());
  EXPECT_EQ(broken_rule(graph), "topological_order");
}

TEST(Verifier, ForwardReadsBackward) {
  Graph graph = chain();
  graph.origin(graph.first()).phase = Phase::backward;
  EXPECT_EQ(broken_rule(graph), "phase_order");
}

TEST(Verifier, TwoOutputsOfOneName) {
  Graph graph = chain();
  graph.add_output(graph.inputs()[0].value, OutputRole::metric, "z");
  EXPECT_EQ(broken_rule(graph), "output_names");
}

TEST(Verifier, TwoInputsOfOneName) {
  Graph graph = chain();
  graph.add_input(Type{Dtype::f32, {}}, InputRole::data, "x");
  EXPECT_EQ(broken_rule(graph), "input_names");
}

TEST(Verifier, PayloadOfAnotherType) {
  Graph graph = parse(R"(graph @g {
    %c: f32[2] = constant {data=[1.0, 2.0]}
    output output "c" %c
  })");
  EXPECT_EQ(broken_rule(graph), "");
  graph.set_attr(graph.first(), "data", int64_t{1});
  EXPECT_EQ(broken_rule(graph), "attrs_complete");
}

TEST(Verifier, StateReadAfterItWasWritten) {
  const Graph graph = parse(R"(graph @g {
    %m: f32[2] = input state "m"
    %n: f32[2] = neg %m
    %late: f32[2] = exp %m
    output output "late" %late
    state %m -> %n
  })");
  EXPECT_EQ(broken_rule(graph), "");
  try {
    verify_scheduled(graph);
    FAIL();
  } catch (const VerifyError& error) {
    EXPECT_EQ(error.rule(), "no_state_read_after_write");
  }
}

}  // namespace
}  // namespace stepc
