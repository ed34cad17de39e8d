#include "tests/ops/samples.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Dtype kF64 = Dtype::f64;

RefTensor labels(const Shape& shape, std::vector<int64_t> values) {
  return integers(Dtype::i64, shape, std::move(values));
}

Attrs rules(const char* reduction, double smoothing = 0, double z_loss = 0, int64_t ignore_index = -100) {
  return {{"reduction", std::string(reduction)},
          {"label_smoothing", smoothing},
          {"z_loss", z_loss},
          {"ignore_index", ignore_index}};
}

Attrs gradients(Attrs attrs, bool dx, bool dw, bool dbias) {
  attrs.set("dx", dx);
  attrs.set("dw", dw);
  attrs.set("dbias", dbias);
  return attrs;
}

void loss_samples_of(std::vector<Sample>& samples, const std::string& name, const Attrs& attrs) {
  const RefTensor x = spread({2, 3, 4}, -1, 1, 1), w = spread({5, 4}, -1, 1, 2), bias = spread({5}, -1, 1, 3);
  const RefTensor t = labels({2, 3}, {4, -100, 0, 2, 2, -100});
  const bool none = attrs.text("reduction") == "none";
  const RefTensor upstream = none ? spread({2, 3}, -1, 1, 4) : reals(kF64, {}, {0.7});
  const Op forward = Op::linear_cross_entropy, backward = Op::linear_cross_entropy_backward;
  samples.push_back({forward, name, {x, w, t}, attrs});
  samples.push_back({forward, name + " with bias", {x, w, t, bias}, attrs});
  samples.push_back({backward, name, {x, w, t, upstream}, gradients(attrs, true, true, false)});
  samples.push_back({backward, name + " with bias", {x, w, t, upstream, bias}, gradients(attrs, true, true, true)});
}

void hand_made_samples(std::vector<Sample>& samples) {
  const Op forward = Op::linear_cross_entropy, backward = Op::linear_cross_entropy_backward;
  const double ln2 = std::numbers::ln2;
  // Logits (1, 1), (0, 0) and (5, 5): p = (1/2, 1/2) everywhere.
  const RefTensor x = reals(kF64, {3, 1}, {1, 0, 5}), w = reals(kF64, {2, 1}, {1, 1}), t = labels({3}, {0, 1, -100});
  samples.push_back({forward, "by hand", {x, w, t}, rules("none"), {reals(kF64, {3}, {ln2, ln2, 0})}});
  samples.push_back({backward,
                     "by hand",
                     {x, w, t, reals(kF64, {3}, {2, 4, 8})},
                     gradients(rules("none"), true, true, false),
                     {reals(kF64, {3, 1}, {0, 0, 0}), reals(kF64, {2, 1}, {-1, 1})}});
  samples.push_back({backward,
                     "one class",
                     {x, reals(kF64, {1, 1}, {3}), labels({3}, {0, 0, 0}), reals(kF64, {}, {1})},
                     gradients(rules("mean"), true, true, false),
                     {reals(kF64, {3, 1}, {0, 0, 0}), reals(kF64, {1, 1}, {0})}});
  samples.push_back(
      {.op = forward,
       .label = "hostile",
       .operands = {reals(kF64, {2, 1}, {1e4, 1}), reals(kF64, {3, 1}, {1, -1, -kInf}), labels({2}, {0, 1})},
       .attrs = rules("none"),
       .expected = {reals(kF64, {2}, {0, 2 + std::log1p(std::exp(-2.0))})},
       .gradients = std::vector<size_t>{}});
  samples.push_back({.op = forward,
                     .label = "none counted",
                     .operands = {x, w, labels({3}, {-100, -100, -100})},
                     .attrs = rules("mean"),
                     .gradients = std::vector<size_t>{}});
  samples.push_back({backward,
                     "none counted",
                     {x, w, labels({3}, {7, 7, 7}), reals(kF64, {}, {1})},
                     gradients(rules("mean", 0, 0, 7), true, true, false),
                     {reals(kF64, {3, 1}, {0, 0, 0}), reals(kF64, {2, 1}, {0, 0})}});
  samples.push_back({forward, "no rows", {spread({0, 3}), spread({2, 3}), labels({0}, {})}, rules("sum")});
  samples.push_back({backward,
                     "no rows",
                     {spread({0, 3}), spread({2, 3}), labels({0}, {}), reals(kF64, {}, {1})},
                     gradients(rules("sum"), true, true, false),
                     {reals(kF64, {0, 3}, {}), reals(kF64, {2, 3}, {0, 0, 0, 0, 0, 0})}});
  samples.push_back({forward, "one row", {spread({4}), spread({3, 4}), labels({}, {2})}, rules("none", 0.1)});
  samples.push_back(
      {forward, "i32 labels", {spread({2, 3}), spread({4, 3}), integers(Dtype::i32, {2}, {3, 0})}, rules("mean")});
  samples.push_back({forward,
                     "bf16",
                     {reals(Dtype::bf16, {1, 2}, {0, 1}), reals(Dtype::bf16, {2, 2}, {1, 0, 0, 1}), labels({1}, {0})},
                     rules("mean")});
  samples.push_back({backward,
                     "dw alone",
                     {spread({2, 3}), spread({4, 3}), labels({2}, {3, 0}), reals(kF64, {}, {1})},
                     gradients(rules("mean"), false, true, false)});
}

}  // namespace

void loss_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  for (const char* reduction : {"mean", "sum", "none"}) {
    const std::string name = reduction;
    loss_samples_of(samples, name, rules(reduction));
    loss_samples_of(samples, name + " smoothed", rules(reduction, 0.1));
    loss_samples_of(samples, name + " z_loss", rules(reduction, 0, 0.3));
    loss_samples_of(samples, name + " both", rules(reduction, 0.2, 0.3));
  }
  hand_made_samples(samples);

  const RefTensor x = spread({2, 3}), w = spread({4, 3}), t = labels({2}, {3, 0}), one = reals(kF64, {}, {1});
  const Op forward = Op::linear_cross_entropy, backward = Op::linear_cross_entropy_backward;
  refusals.push_back({forward, "label too large", {x, w, labels({2}, {0, 4})}, rules("mean"), "label 4 at position 1"});
  refusals.push_back({forward, "labels shape", {x, w, labels({1}, {0})}, rules("mean"), "one label per row"});
  refusals.push_back({forward, "w transposed", {x, spread({3, 4}), t}, rules("mean"), "expected [.., K] and [classes"});
  refusals.push_back({forward, "bias", {x, w, t, spread({3})}, rules("mean"), "bias f64[3] for 4 classes"});
  refusals.push_back({forward, "reduction", {x, w, t}, rules("average"), "not mean, sum or none"});
  const auto refuse = [&](const char* label, const Attrs& attrs, const RefTensor& upstream, const char* message) {
    refusals.push_back({backward, label, {x, w, t, upstream}, attrs, message});
  };
  refuse("nothing wanted", gradients(rules("mean"), false, false, false), one, "at least one of");
  refuse("dbias without bias", gradients(rules("mean"), true, true, true), one, "dbias without a bias");
  refuse("dloss", gradients(rules("none"), true, true, false), one, "dloss f64[] must be f64[2]");
}

}  // namespace stepc::test
