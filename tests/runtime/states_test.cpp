// Steps on the CPU leave the states and outputs that the reference interpreter computes, however states and outputs
// lean on each other: each value is what it was in this step, whatever is written over it.

#include "codegen/cpu/program.h"
#include "ir/interpreter.h"
#include "ir/parser.h"
#include "passes/registry.h"
#include "passes/runner.h"
#include "runtime/executor.h"
#include "tests/runtime/run_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace stepc::test {
namespace {

constexpr int kSteps = 3;

// Bit for bit: the graphs of this test only add, multiply and move.
void expect_same(const Tensor& actual, const RefTensor& expected, const std::string& what) {
  const Tensor rounded = expected.to_tensor();
  ASSERT_EQ(actual.bytes().size(), rounded.bytes().size()) << what;
  EXPECT_EQ(std::memcmp(actual.bytes().data(), rounded.bytes().data(), actual.bytes().size()), 0) << what;
}

void expect_steps(std::string_view text) {
  const Graph reference = parse(text);
  Graph graph = parse(text);
  const TrainOptions options;
  PassContext context(options);
  const std::array pipeline{&find_pass("schedule"), &find_pass("plan-memory")};
  run_passes(graph, pipeline, context, {.measure = false, .check_changed = true});

  const cpu::Program program = cpu::generate(graph, *context.plan);
  const KernelLibrary library = test_kernels(program.functions);
  Executor executor(graph, *context.plan, program, library, {.threads = 1, .poison = true});
  std::map<std::string, RefTensor> inputs;
  uint32_t seed = 0;
  const auto draw = [&](const GraphInput& input) {
    const Tensor value = pseudo_random(reference.type(input.value), ++seed);
    executor.set_input(input.name, value.view());
    inputs.insert_or_assign(input.name, RefTensor(value.view()));
  };
  for (const GraphInput& input : reference.inputs()) draw(input);
  for (int step = 0; step < kSteps; ++step) {
    for (const GraphInput& input : reference.inputs())
      if (input.role == InputRole::data) draw(input);
    Interpretation expected = interpret(reference, inputs, RefPrecision::f32);
    executor.run_step();
    for (const auto& [name, value] : expected.outputs) expect_same(executor.output(name), value, "output " + name);
    for (auto& [name, value] : expected.states) {
      expect_same(executor.input(name), value, "state " + name);
      inputs.insert_or_assign(name, std::move(value));
    }
  }
}

TEST(States, AnOutputIsTheOldValue) {
  expect_steps(R"(graph @g {
    %h: f32[2] = input data "h"
    %a: f32[2] = input state "a"
    %n: f32[2] = add %a, %h
    output output "a" %a
    output output "n" %n
    state %a -> %n
  })");
}

TEST(States, AnOutputIsAViewOfTheOldValue) {
  expect_steps(R"(graph @g {
    %h: f32[2,3] = input data "h"
    %a: f32[2,3] = input state "a"
    %t: f32[3,2] = transpose %a {perm=[1,0]}
    %n: f32[2,3] = add %a, %h
    output output "t" %t
    state %a -> %n
  })");
}

TEST(States, AShiftRegister) {
  for (const char* states :
       {"state %a -> %n state %b -> %a state %c -> %b", "state %c -> %b state %b -> %a state %a -> %n"})
    expect_steps(std::string(R"(graph @g {
      %h: f32[2] = input data "h"
      %a: f32[2] = input state "a"
      %b: f32[2] = input state "b"
      %c: f32[2] = input state "c"
      %n: f32[2] = add %a, %h
      %y: f32[2] = mul %c, %h
      output output "y" %y
    )") + states +
                 "}");
}

TEST(States, TwoThatChangePlaces) {
  expect_steps(R"(graph @g {
    %a: f32[2] = input state "a"
    %b: f32[2] = input state "b"
    state %a -> %b
    state %b -> %a
  })");
}

TEST(States, TwoThatReadEachOther) {
  expect_steps(R"(graph @g {
    %h: f32[2] = input data "h"
    %a: f32[2] = input state "a"
    %b: f32[2] = input state "b"
    %n: f32[2] = add %b, %h
    %m: f32[2] = sub %a, %h
    state %a -> %n
    state %b -> %m
  })");
}

TEST(States, TheOldValueIsReadBesideTheNewOne) {
  expect_steps(R"(graph @g {
    %h: f32[3,2] = input data "h"
    %a: f32[2,3] = input state "a"
    %0: f32[3,2] = transpose %a {perm=[1,0]}
    %1: f32[2,3] = transpose %h {perm=[1,0]}
    %n: f32[2,3] = add %a, %1
    %2: f32[3,2] = transpose %n {perm=[1,0]}
    %z: f32[3,2] = mul %2, %0
    %early: f32[2,3] = mul %a, %1
    output output "z" %z
    output output "early" %early
    state %a -> %n
  })");
}

TEST(States, AStateIsTransposed) {
  expect_steps(R"(graph @g {
    %a: f32[3,3] = input state "a"
    %b: f32[3,3] = input state "b"
    %t: f32[3,3] = transpose %a {perm=[1,0]}
    %n: f32[3,3] = mul %b, %a
    state %a -> %t
    state %b -> %n
  })");
}

TEST(States, TwoOfOneValue) {
  expect_steps(R"(graph @g {
    %h: f32[2] = input data "h"
    %a: f32[2] = input state "a"
    %b: f32[2] = input state "b"
    %n: f32[2] = mul %b, %h
    %y: f32[2] = add %n, %a
    output output "y" %y
    state %a -> %n
    state %b -> %n
  })");
}

}  // namespace
}  // namespace stepc::test
