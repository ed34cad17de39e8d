// Attention and linear cross-entropy as CUDA kernels, on the SIMT target.
#include "ir/support/error.h"
#include "tests/runtime/attention_cases.h"
#include "tests/runtime/linear_cross_entropy_cases.h"
#include "tests/runtime/simt/simt_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

using Mask = AttentionCase::Mask;

TEST(SimtAttention, TilesAndTheirEdges) {
  AttentionCases cases;
  cases.add({.label = "whole", .heads = 1, .key_heads = 1, .queries = 64, .keys = 64, .depth = 32, .value_depth = 32});
  cases.add(
      {.label = "one more", .queries = 65, .keys = 33, .depth = 20, .value_depth = 12, .attrs = attention_rules(true)});
  cases.add({.label = "one less", .queries = 63, .keys = 31, .depth = 7, .value_depth = 5});
  cases.add({.label = "one of each", .queries = 1, .keys = 1, .depth = 1, .value_depth = 1});
  cases.add({.label = "one query", .queries = 1, .keys = 67, .depth = 8, .value_depth = 8});
  cases.add({.label = "no keys", .queries = 3, .keys = 0, .depth = 8, .value_depth = 8});
  cases.add({.label = "no queries", .queries = 0, .keys = 3, .depth = 8, .value_depth = 8});
  expect_simt_agrees(cases.graph, cases.inputs);
}

// More than the tiles in shared memory hold: depths go in steps, and several blocks share a row of the results.
TEST(SimtAttention, DepthsInSteps) {
  AttentionCases cases;
  cases.add({.label = "wide", .heads = 1, .key_heads = 1, .queries = 18, .keys = 35, .depth = 72, .value_depth = 300});
  cases.add({.label = "deep", .heads = 1, .key_heads = 1, .queries = 35, .keys = 18, .depth = 140, .value_depth = 9});
  expect_simt_agrees(cases.graph, cases.inputs);
}

TEST(SimtAttention, RulesAndMasks) {
  AttentionCases cases;
  const auto add = [&](const char* label, const Attrs& attrs, const std::optional<Mask>& mask, double dropout) {
    cases.add({.label = label,
               .batch = 2,
               .heads = 4,
               .key_heads = 2,
               .queries = 37,
               .keys = 41,
               .depth = 12,
               .value_depth = 8,
               .attrs = attrs,
               .mask = mask,
               .dropout = dropout});
  };
  add("grouped", attention_rules(true, 3), {}, 0);
  add("window and cap", attention_rules(true, 4, 9, -1, 0.7), {}, 0);
  add("both sides", attention_rules(false, -2, 6, 5), {}, 0);
  add("dead rows", attention_rules(true, -20), {}, 0);
  add("bool", attention_rules(), Mask{Dtype::boolean, {37, 41}}, 0);
  add("padding", attention_rules(), Mask{Dtype::boolean, {2, 1, 1, 41}}, 0);
  add("bias", attention_rules(true), Mask{Dtype::f32, {1, 4, 37, 41}}, 0);
  add("bias per key", attention_rules(), Mask{Dtype::f32, {41}}, 0);
  add("bias per query", attention_rules(), Mask{Dtype::f32, {2, 1, 37, 1}}, 0);
  add("infinite bias", attention_rules(), Mask{Dtype::f32, {1, 1, 37, 41}, -std::numeric_limits<double>::infinity()},
      0);
  add("dropout", attention_rules(true, 0, -1, -1, 0.9), Mask{Dtype::f32, {37, 41}}, 0.3);
  expect_simt_agrees(cases.graph, cases.inputs);
}

TEST(SimtAttention, SixteenBits) {
  AttentionCases cases;
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    const std::string name(dtype_name(dtype));
    cases.add({.label = name,
               .heads = 4,
               .key_heads = 2,
               .queries = 66,
               .keys = 35,
               .depth = 40,
               .value_depth = 24,
               .attrs = attention_rules(true, 5),
               .dtype = dtype});
    cases.add({.label = name + " slices",
               .queries = 33,
               .keys = 33,
               .depth = 16,
               .value_depth = 16,
               .one_tensor = true,
               .dropout = 0.2,
               .dtype = dtype});
    cases.add({.label = name + " bias",
               .heads = 1,
               .key_heads = 1,
               .queries = 17,
               .keys = 19,
               .depth = 7,
               .value_depth = 5,
               .mask = Mask{dtype, {17, 19}},
               .dtype = dtype});
  }
  expect_simt_agrees(cases.graph, cases.inputs);
}

// Scores of ±10^4, and ties.
TEST(SimtAttention, HostileScores) {
  AttentionCases cases;
  for (const double spread : {45.0, 0.6})
    cases.add({.label = spread > 1 ? "large" : "ties",
               .queries = 40,
               .keys = 40,
               .depth = 16,
               .value_depth = 16,
               .attrs = attention_rules(true, 0, -1, -1, 0, 0.25),
               .spread = spread,
               .integers = true});
  // All keys of a query are masked by a finite number, which leaves no digit of its scores, or shifts them far.
  for (const double all : {-double{std::numeric_limits<float>::max()}, 1e4})
    cases.add({.label = fmt::format("rows at {}", all),
               .queries = 40,
               .keys = 40,
               .depth = 16,
               .value_depth = 16,
               .mask = Mask{Dtype::f32, {1, 1, 40, 40}, all, true},
               .spread = 2,
               .integers = true});
  expect_simt_agrees(cases.graph, cases.inputs);
}

TEST(SimtLinearCrossEntropy, AgreesWithEvaluation) {
  LossCases cases;
  cases.add({.label = "odd", .rows = {19}, .depth = 13, .classes = 67, .bias = true});
  cases.add({.label = "one of each", .rows = {1}, .depth = 1, .classes = 1});
  cases.add({.label = "chunks", .rows = {270}, .depth = 5, .classes = 9, .bias = true, .constant = false});
  cases.add({.label = "groups", .rows = {17}, .depth = 36, .classes = 600, .transposed = true});
  cases.add({.label = "all",
             .rows = {3, 7},
             .depth = 8,
             .classes = 12,
             .attrs = loss_rules("none", 0.2, 0.1),
             .bias = true,
             .shifted = true,
             .constant = false,
             .label_dtype = Dtype::i32});
  cases.add({.label = "sum", .rows = {5}, .depth = 8, .classes = 12, .attrs = loss_rules("sum", 0.1), .spread = 9});
  cases.add({.label = "no rows", .rows = {0}, .depth = 8, .classes = 12, .attrs = loss_rules("sum")});
  cases.add({.label = "ignored", .rows = {6}, .depth = 8, .classes = 12, .ignored = true});
  expect_simt_agrees(cases.graph, cases.inputs, {.least = 1e-3});
}

// w and the gradients of the logits are rounded to the type of x where they are multiplied. A result may be the
// neighbour of the one that is expected, 2^-7 of it in bf16 and 2^-10 in f16.
TEST(SimtLinearCrossEntropy, Bf16) {
  LossCases cases;
  const Dtype bf16 = Dtype::bf16;
  cases.add({.label = "odd", .rows = {19}, .depth = 13, .classes = 67, .bias = true, .x_dtype = bf16});
  cases.add({.label = "one of each", .rows = {1}, .depth = 1, .classes = 1, .x_dtype = bf16});
  cases.add({.label = "less than tiles", .rows = {63}, .depth = 127, .classes = 127, .x_dtype = bf16});
  cases.add({.label = "more", .rows = {65}, .depth = 129, .classes = 129, .transposed = true, .x_dtype = bf16});
  cases.add({.label = "groups", .rows = {17}, .depth = 36, .classes = 600, .x_dtype = bf16});
  expect_simt_agrees(cases.graph, cases.inputs, {.half = 0x1p-7, .least = 1e-3});
}

TEST(SimtLinearCrossEntropy, F16) {
  LossCases cases;
  const Dtype f16 = Dtype::f16;
  cases.add({.label = "more than tiles", .rows = {65}, .depth = 136, .classes = 132, .x_dtype = f16});
  cases.add({.label = "chunks", .rows = {270}, .depth = 8, .classes = 9, .x_dtype = f16});
  cases.add({.label = "rows", .rows = {3, 7}, .depth = 8, .classes = 12, .shifted = true, .x_dtype = f16});
  expect_simt_agrees(cases.graph, cases.inputs, {.half = 0x1p-10, .least = 1e-3});
}

TEST(SimtLinearCrossEntropy, SpecialNumbersAgreeWithEvaluation) {
  LossCases cases;
  for (const char* label : {"nan in x", "infinite x", "nan in w", "excluded class"})
    cases.add({.label = label, .rows = {9}, .depth = 8, .classes = 12, .attrs = loss_rules("none"), .bias = true});
  set_element(cases.inputs.at("nan in x.x"), 5 * 8 + 7, std::nan(""));
  set_element(cases.inputs.at("infinite x.x"), 5 * 8 + 7, std::numeric_limits<double>::infinity());
  set_element(cases.inputs.at("nan in w.w"), 11 * 8 + 7, std::nan(""));
  set_element(cases.inputs.at("excluded class.bias"), 2, -std::numeric_limits<double>::infinity());
  expect_simt_agrees(cases.graph, cases.inputs, {.least = 1e-3});
}

TEST(SimtLinearCrossEntropy, RefusesALabelThatIsNoClass) {
  LossCases cases;
  cases.add({.label = "bad", .rows = {9}, .depth = 8, .classes = 12});
  set_element(cases.inputs.at("bad.t"), 4, 12);
  EXPECT_THROW(expect_simt_agrees(cases.graph, cases.inputs), UserError);
}

}  // namespace
}  // namespace stepc::test
