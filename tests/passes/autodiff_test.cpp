// Gradients of whole graphs against central differences in f64: what the generic test of single operations cannot see,
// sums over several paths, pruning, and the order of the sweep.

#include "ir/interpreter.h"
#include "ir/parser.h"
#include "passes/registry.h"
#include "passes/runner.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepc {
namespace {

using Inputs = std::map<std::string, RefTensor>;

// Smooth, distinct values in (-1, 1), none near a kink.
RefTensor sample(const Type& type, int seed) {
  RefTensor tensor(type);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.set(i, is_float(type.dtype) ? std::sin(1.7 * static_cast<double>(i + 1) + seed)
                                       : static_cast<double>((i * i + seed) % 3));
  return tensor;
}

double loss_at(const Graph& graph, const Inputs& inputs) {
  return interpret(graph, inputs, RefPrecision::f64).outputs.at("loss").at(0);
}

// Every element of every gradient output within 1e-6 of (loss(x+h) - loss(x-h)) / 2h.
void expect_gradients(std::string_view text, const TrainOptions& options) {
  Graph graph = parse(text);
  PassContext context(options);
  run_passes(graph, parse_pipeline("loss,autodiff,canonicalize,fold,cse,dce"), context,
             RunnerOptions{.check_changed = true});
  Inputs inputs;
  int seed = 0;
  for (const GraphInput& input : graph.inputs()) inputs.emplace(input.name, sample(graph.type(input.value), seed++));
  const Interpretation result = interpret(graph, inputs, RefPrecision::f64);

  int gradients = 0;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.role != OutputRole::gradient) continue;
    const std::string name = output.name.substr(output.name.find('/') + 1);
    RefTensor& x = inputs.at(name);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double center = x.at(i);
      const double h = 1e-5;
      x.set(i, center + h);
      const double above = loss_at(graph, inputs);
      x.set(i, center - h);
      const double below = loss_at(graph, inputs);
      x.set(i, center);
      EXPECT_NEAR(result.outputs.at(output.name).at(i), (above - below) / (2 * h), 1e-6) << output.name << " at " << i;
      ++gradients;
    }
  }
  EXPECT_GT(gradients, 0);
}

TrainOptions with_loss(LossKind kind) {
  TrainOptions options;
  options.loss.kind = kind;
  return options;
}

TEST(Autodiff, TiedEmbeddingAndHead) {
  expect_gradients(R"(graph @tied {
    %i: i64[4] = input data "ids"
    %w: f32[3,5] = input weight "w" trainable
    %u: f32[5,5] = input weight "u" trainable
    %e: f32[4,5] = gather %w, %i {axis=0}
    %h: f32[4,5] = contraction %e, %u {spec="ik,kj->ij"}
    %t: f32[4,5] = tanh %h
    %r: f32[4,5] = add %t, %e
    %y: f32[4,3] = contraction %r, %w {spec="ik,jk->ij"}
    output output "logits" %y
  })",
                   with_loss(LossKind::cross_entropy));
}

TEST(Autodiff, MaskedSoftmaxFromPrimitives) {
  expect_gradients(R"(graph @attention {
    %q: f32[2,3,4] = input data "q"
    %k: f32[2,3,4] = input data "k"
    %m: bool[3,3] = constant {data=[false, true, true, false, false, true, false, false, false]}
    %kt: f32[2,4,3] = transpose %k {perm=[0, 2, 1]}
    %s: f32[2,3,3] = contraction %q, %kt {spec="bik,bkj->bij"}
    %0: f32[] = constant {data=[2.0]}
    %sc: f32[2,3,3] = div %s, %0
    %1: f32[] = constant {data=[-inf]}
    %ms: f32[2,3,3] = select %m, %1, %sc
    %mx: f32[2,3,1] = reduce_max %ms {axes=[2], keepdims=true}
    %d: f32[2,3,3] = sub %ms, %mx
    %e: f32[2,3,3] = exp %d
    %z: f32[2,3,1] = reduce_sum %e {axes=[2], keepdims=true}
    %p: f32[2,3,3] = div %e, %z
    %o: f32[2,3,4] = contraction %p, %k {spec="bij,bjk->bik"}
    output output "y" %o
  })",
                   with_loss(LossKind::mean_square));
}

TEST(Autodiff, BroadcastsSlicesAndConcat) {
  expect_gradients(R"(graph @views {
    %x: f32[2,6] = input data "x"
    %b: f32[6] = input data "b"
    %s: f32[] = input data "s"
    %a: f32[2,6] = add %x, %b
    %l: f32[2,3] = slice %a {starts=[0, 0], sizes=[2, 3], steps=[1, 2]}
    %h: f32[2,3] = slice %a {starts=[0, 5], sizes=[2, 3], steps=[1, -2]}
    %n: f32[2,3] = neg %h
    %c: f32[2,6] = concat %n, %l {axis=1}
    %y: f32[2,6] = mul %c, %a
    %z: f32[2,6] = mul %y, %s
    %r: f32[3,4] = reshape %z {shape=[3, 4]}
    output output "y" %r
  })",
                   with_loss(LossKind::mean_square));
}

TEST(Autodiff, ShiftedCrossEntropyOfSequences) {
  TrainOptions options = with_loss(LossKind::cross_entropy);
  options.loss.shift = true;
  options.loss.ignore_index = 2;
  expect_gradients(R"(graph @shift {
    %x: f32[2,4,3] = input data "x"
    %w: f32[3] = input data "w"
    %y: f32[2,4,3] = mul %x, %w
    output output "logits" %y
  })",
                   options);
}

}  // namespace
}  // namespace stepc
