#pragma once

#include "ir/builder.h"
#include "ir/ref_tensor.h"

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace stepc::test {

// One node with the values of its operands. The generic test (tests/ops/all_ops_test.cpp) checks on every sample what
// can be checked of any operation: types, VJP, decomposition, text form, cost.
struct Sample {
  Op op{};
  std::string label = {};                               // unique among the samples of `op`
  std::vector<std::optional<RefTensor>> operands = {};  // nullopt: an omitted optional operand
  Attrs attrs = {};
  std::vector<RefTensor> expected = {};  // results derived by hand; empty: only the generic checks
  // Operands that must receive a gradient, to be compared with finite differences. By default every float operand,
  // where the operation has a VJP and a float result. `{}` at points that are not differentiable (ties, kinks).
  // Operands and results are f64 there; samples in other dtypes are checked for everything but their gradients.
  std::optional<std::vector<size_t>> gradients = std::nullopt;
  double tolerance = 1e-6;  // of gradients and decompositions, relative to the largest element
  // Makes the node where `make_node(op, operands, attrs)` cannot (constant, fused).
  std::function<NodeId(Builder&, const std::vector<ValueId>&)> make = nullptr;
};

inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.label; }

// A node that must be refused with a UserError whose message contains `message`.
struct Refusal {
  Op op{};
  std::string label = {};
  std::vector<std::optional<RefTensor>> operands = {};
  Attrs attrs = {};
  std::string message = {};
};

inline void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.label; }

// --- operand values
// Row-major values, e.g. reals(Dtype::f64, {2, 2}, {1, 2, 3, 4}).
RefTensor reals(Dtype dtype, const Shape& shape, std::vector<double> values);
RefTensor integers(Dtype dtype, const Shape& shape, std::vector<int64_t> values);
// Deterministic, all different, in (low, high), f64: spread so that no two are closer than (high - low) / (2 * numel).
RefTensor spread(const Shape& shape, double low = -2, double high = 2, uint32_t seed = 1);

// --- the table, by group; a group appends its samples and refusals
void pointwise_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals);
void movement_samples(std::vector<Sample>& samples,
                      std::vector<Refusal>& refusals);  // sources, views, movement, cumsum, top-k, arg-max
void reduction_samples(std::vector<Sample>& samples,
                       std::vector<Refusal>& refusals);  // reduce_*, softmax, norms, cross-entropy
void contraction_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals);  // contraction, conv*
void attention_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals);    // attention*, rotary
void loss_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals);         // linear_cross_entropy*
void fused_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals);

const std::vector<Sample>& all_samples();
const std::vector<Refusal>& all_refusals();

}  // namespace stepc::test
