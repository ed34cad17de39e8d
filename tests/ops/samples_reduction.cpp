#include "ir/support/error.h"
#include "tests/ops/samples.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Dtype kF64 = Dtype::f64;

const std::vector<size_t> kNone;

RefTensor matrix(const Shape& shape, std::vector<double> values) { return reals(kF64, shape, std::move(values)); }

Attrs over(Dims axes, bool keepdims = false) { return {{"axes", std::move(axes)}, {"keepdims", keepdims}}; }

void reduce_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  for (const Op op : {Op::reduce_sum, Op::reduce_max, Op::reduce_min, Op::reduce_prod}) {
    for (const bool keepdims : {false, true}) {
      const std::string kept = keepdims ? " kept" : "";
      samples.push_back({op, "first axis" + kept, {spread({3, 2, 4})}, over({0}, keepdims)});
      samples.push_back({op, "last axis" + kept, {spread({2, 5})}, over({1}, keepdims)});
      samples.push_back({op, "two axes" + kept, {spread({3, 2, 3})}, over({0, 2}, keepdims)});
      samples.push_back({op, "all axes" + kept, {spread({2, 3})}, over({0, 1}, keepdims)});
    }
    samples.push_back({op, "no axes", {spread({2, 3})}, over({})});
    samples.push_back({op, "scalar", {spread({})}, over({})});
    samples.push_back({op, "size one", {spread({3, 1})}, over({1})});
    samples.push_back({op, "empty result", {spread({0, 3})}, over({1})});
    samples.push_back({op, "f16", {reals(Dtype::f16, {2, 2}, {1, 2, 3, -4})}, over({1})});
    refusals.push_back({op, "axis out of range", {spread({2})}, over({1}), "axis 1 is out of range"});
    refusals.push_back({op, "axes not sorted", {spread({2, 2})}, over({1, 0}), "not sorted"});
  }
  const RefTensor ints = integers(Dtype::i32, {2, 2}, {7, -2, 3, 5});
  const auto i32s = [](std::vector<int64_t> values) { return integers(Dtype::i32, {2}, std::move(values)); };
  samples.push_back({Op::reduce_sum, "i32", {ints}, over({0}), {i32s({10, 3})}});
  samples.push_back({Op::reduce_max, "i32", {ints}, over({0}), {i32s({7, 5})}});
  samples.push_back({Op::reduce_min, "i32", {ints}, over({0}), {i32s({3, -2})}});
  samples.push_back({Op::reduce_prod, "i32", {ints}, over({0}), {i32s({21, -10})}});
  refusals.push_back({Op::reduce_sum, "bool", {integers(Dtype::boolean, {1}, {1})}, over({0}), "cast it"});
}

// What an empty reduction gives (ONNX's rule for ReduceMax and ReduceMin), by dtype.
void empty_reduction_samples(std::vector<Sample>& samples) {
  const auto empty = [&](Op op, const RefTensor& result) {
    const Shape shape{2, 0};
    const RefTensor operand =
        result.is_real() ? reals(result.type.dtype, shape, {}) : integers(result.type.dtype, shape, {});
    samples.push_back({op, fmt::format("empty {}", dtype_name(result.type.dtype)), {operand}, over({1}), {result}});
  };
  empty(Op::reduce_sum, matrix({2}, {0, 0}));
  empty(Op::reduce_prod, matrix({2}, {1, 1}));
  empty(Op::reduce_max, matrix({2}, {-kInf, -kInf}));
  empty(Op::reduce_min, matrix({2}, {kInf, kInf}));
  empty(Op::reduce_max, integers(Dtype::i32, {2}, {-2147483648, -2147483648}));
  empty(Op::reduce_min, integers(Dtype::i32, {2}, {2147483647, 2147483647}));
  empty(Op::reduce_max, integers(Dtype::u8, {2}, {0, 0}));
  empty(Op::reduce_min, integers(Dtype::i8, {2}, {127, 127}));
  empty(Op::reduce_max, integers(Dtype::boolean, {2}, {0, 0}));
  empty(Op::reduce_min, integers(Dtype::boolean, {2}, {1, 1}));
}

// Ties, NaNs and zeros. Their gradients are not differences: special_gradients_test.cpp has them.
void special_reduction_samples(std::vector<Sample>& samples) {
  const RefTensor bools = integers(Dtype::boolean, {2, 2}, {0, 1, 0, 0});
  samples.push_back({Op::reduce_max, "bool is or", {bools}, over({1}), {integers(Dtype::boolean, {2}, {1, 0})}});
  samples.push_back({Op::reduce_min, "bool is and", {bools}, over({0}), {integers(Dtype::boolean, {2}, {0, 0})}});
  for (const Op op : {Op::reduce_max, Op::reduce_min})
    samples.push_back({.op = op,
                       .label = "NaN wins",
                       .operands = {matrix({3, 2}, {kNan, 1, 1, kNan, kInf, -kInf})},
                       .attrs = over({1}),
                       .expected = {matrix({3}, {kNan, kNan, op == Op::reduce_max ? kInf : -kInf})},
                       .gradients = kNone});
  samples.push_back(
      {Op::reduce_prod, "one zero", {matrix({2, 3}, {2, 0, 5, 3, 4, -1})}, over({1}), {matrix({2}, {0, -12})}});
  samples.push_back({Op::reduce_prod, "two zeros", {matrix({1, 3}, {0, 7, 0})}, over({1}), {matrix({1}, {0})}});
}

Attrs along(int64_t axis) { return {{"axis", axis}}; }
Attrs safe(int64_t axis) { return {{"axis", axis}, {"zero_dead_rows", true}}; }

void softmax_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  const double third = 1.0 / 3, log3 = std::log(3.0);
  for (const Op op : {Op::softmax, Op::log_softmax}) {
    samples.push_back({op, "last axis", {spread({2, 3, 4})}, along(2)});
    samples.push_back({op, "middle axis", {spread({2, 3, 4})}, along(1)});
    samples.push_back({op, "one class", {spread({3, 1})}, along(1)});
    samples.push_back({op, "no classes", {spread({3, 0})}, along(1)});
    samples.push_back({op, "no rows", {spread({0, 3})}, along(1)});
    samples.push_back({op, "bf16", {reals(Dtype::bf16, {2, 2}, {1, 2, 3, 4})}, along(1)});
    refusals.push_back({op, "axis", {spread({2})}, along(1), "axis 1 is out of range"});
    refusals.push_back({op, "integers", {integers(Dtype::i64, {2}, {1, 2})}, along(0), "must be a float"});
    // Shifted by any maximum, equal scores are equal probabilities; −∞ has none.
    const bool is_log = op == Op::log_softmax;
    const double even = is_log ? -log3 : third, never = is_log ? -kInf : 0, half = is_log ? -std::log(2.0) : 0.5;
    samples.push_back({.op = op,
                       .label = "hostile",
                       .operands = {matrix({4, 3}, {1e4, 1e4, 1e4, -1e4, -1e4, -1e4, 5, -kInf, 5, 1e4, 0, -1e4})},
                       .attrs = along(1),
                       .expected = {matrix({4, 3}, {even, even, even, even, even, even, half, never, half,
                                                    is_log ? 0.0 : 1.0, is_log ? -1e4 : 0, is_log ? -2e4 : 0})},
                       .gradients = kNone});
    samples.push_back({.op = op,
                       .label = "dead row",
                       .operands = {matrix({1, 2}, {-kInf, -kInf})},
                       .attrs = along(1),
                       .expected = {matrix({1, 2}, {kNan, kNan})},
                       .gradients = kNone});
  }
  samples.push_back({Op::softmax, "zero_dead_rows, none dead", {spread({2, 3})}, safe(1)});
  samples.push_back({.op = Op::softmax,
                     .label = "zero_dead_rows",
                     .operands = {matrix({3, 2}, {-kInf, -kInf, 3, -kInf, kNan, -kInf})},
                     .attrs = safe(1),
                     .expected = {matrix({3, 2}, {0, 0, 1, 0, kNan, kNan})},
                     .gradients = kNone});
}

Attrs norm(int64_t axis, double epsilon) { return {{"axis", axis}, {"epsilon", epsilon}}; }

void norm_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  const RefTensor x = spread({2, 3, 4}), scale = spread({4}, -2, 2, 2), bias = spread({4}, -2, 2, 3);
  for (const Op op : {Op::layer_norm, Op::rms_norm}) {
    samples.push_back({op, "plain", {x}, norm(2, 1e-5)});
    samples.push_back({op, "scale", {x, scale}, norm(2, 1e-5)});
    samples.push_back({op, "two axes", {x, spread({3, 4}, -2, 2, 2)}, norm(1, 0.1)});
    samples.push_back({op, "scale of one element", {x, spread({1}, 1, 2)}, norm(2, 1e-5)});
    samples.push_back({op, "scale per row", {x, spread({2, 1, 4}, 1, 2)}, norm(2, 1e-5)});
    samples.push_back({op, "all axes", {spread({5})}, norm(0, 1e-5)});
    samples.push_back({op, "one element", {spread({3, 1}), spread({1})}, norm(1, 0.5)});
    samples.push_back({op, "no rows", {spread({0, 4}), scale}, norm(1, 1e-5)});
    samples.push_back(
        {op, "f32 scale of bf16", {reals(Dtype::bf16, {1, 2}, {1, 3}), reals(Dtype::f32, {2}, {1, 2})}, norm(1, 1e-5)});
    refusals.push_back({op, "scale does not fit", {x, spread({3})}, norm(2, 1e-5), "does not broadcast"});
    refusals.push_back({op, "axis", {x}, norm(3, 1e-5), "axis 3 is out of range"});
  }
  samples.push_back({Op::layer_norm, "scale and bias", {x, scale, bias}, norm(2, 1e-5)});
  samples.push_back({Op::layer_norm, "bias alone", {x, std::nullopt, bias}, norm(2, 1e-5)});
  // (−1, 1): mean 0, variance 1, and 3 = 2² − 1, so that rstd is 1/2.
  samples.push_back({Op::layer_norm,
                     "by hand",
                     {matrix({1, 2}, {4, 6}), matrix({2}, {2, 4}), matrix({2}, {10, 20})},
                     norm(1, 3),
                     {matrix({1, 2}, {9, 22}), matrix({1, 1}, {5}), matrix({1, 1}, {0.5})}});
  samples.push_back({Op::rms_norm,
                     "by hand",
                     {matrix({1, 2}, {1, 7}), matrix({2}, {10, 20})},
                     norm(1, 0),
                     {matrix({1, 2}, {2, 28}), matrix({1, 1}, {0.2})}});
}

RefTensor labels(const Shape& shape, std::vector<int64_t> values) {
  return integers(Dtype::i64, shape, std::move(values));
}

Attrs loss(const char* reduction, double smoothing = 0, double z_loss = 0, int64_t ignore_index = -100) {
  return {{"reduction", std::string(reduction)},
          {"label_smoothing", smoothing},
          {"z_loss", z_loss},
          {"ignore_index", ignore_index}};
}

void cross_entropy_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  const Op op = Op::cross_entropy;
  const RefTensor x = spread({2, 3, 5}), t = labels({2, 3}, {4, -100, 0, 2, 2, -100});
  for (const char* reduction : {"mean", "sum", "none"}) {
    const std::string name = reduction;
    samples.push_back({op, name, {x, t}, loss(reduction)});
    samples.push_back({op, name + " smoothed", {x, t}, loss(reduction, 0.1)});
    samples.push_back({op, name + " z_loss", {x, t}, loss(reduction, 0, 0.3)});
    samples.push_back({op, name + " both", {x, t}, loss(reduction, 0.2, 0.3)});
    samples.push_back({op, name + " one row", {spread({4}), labels({}, {3})}, loss(reduction)});
  }
  samples.push_back({op, "ignore_index within", {x, labels({2, 3}, {4, 1, 0, 2, 1, 1})}, loss("mean", 0, 0, 1)});
  samples.push_back({op, "i32 labels", {spread({2, 3}), integers(Dtype::i32, {2}, {2, 0})}, loss("mean")});
  samples.push_back({op, "bf16", {reals(Dtype::bf16, {1, 2}, {0, 1}), labels({1}, {0})}, loss("mean")});
  const double ln2 = std::numbers::ln2;
  samples.push_back({op,
                     "by hand",
                     {matrix({3, 2}, {1, 1, -7, -7, 3, 9}), labels({3}, {0, 1, -100})},
                     loss("sum"),
                     {matrix({}, {2 * ln2}), matrix({3}, {1 + ln2, -7 + ln2, 9 + std::log1p(std::exp(-6.0))})}});
  samples.push_back(
      {.op = op,
       .label = "hostile",
       .operands = {matrix({3, 3}, {1e4, -1e4, 0, -kInf, 2, -kInf, 1e4, 1e4, -kInf}), labels({3}, {0, 1, 0})},
       .attrs = loss("none"),
       .expected = {matrix({3}, {0, 0, ln2}), matrix({3}, {1e4, 2, 1e4 + ln2})},
       .gradients = kNone});
  samples.push_back({.op = op,
                     .label = "none counted",
                     .operands = {spread({2, 3}), labels({2}, {-100, -100})},
                     .attrs = loss("mean"),
                     .gradients = kNone});
  samples.push_back({op, "no rows", {spread({0, 3}), labels({0}, {})}, loss("sum")});
  refusals.push_back({op,
                      "label too large",
                      {spread({2, 3}), labels({2}, {0, 3})},
                      loss("mean"),
                      "label 3 at position 1 is outside the vocabulary of 3"});
  refusals.push_back(
      {op, "label negative", {spread({1, 3}), labels({1}, {-1})}, loss("mean"), "label -1 at position 0"});
  refusals.push_back({op, "reduction", {x, t}, loss("average"), "not mean, sum or none"});
  refusals.push_back({op, "labels shape", {x, labels({2}, {0, 0})}, loss("mean"), "one label per row"});
  refusals.push_back({op, "float labels", {x, spread({2, 3})}, loss("mean"), "must be i64 or i32"});
}

}  // namespace

void reduction_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  reduce_samples(samples, refusals);
  empty_reduction_samples(samples);
  special_reduction_samples(samples);
  softmax_samples(samples, refusals);
  norm_samples(samples, refusals);
  cross_entropy_samples(samples, refusals);
}

}  // namespace stepc::test
