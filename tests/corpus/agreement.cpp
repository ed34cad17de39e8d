#include "tests/corpus/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepc::corpus {
namespace {

constexpr double kSmallestScale = 0.1;

double scale_of(const RefTensor& tensor) {
  double largest = kSmallestScale;
  for (int64_t i = 0; i < tensor.numel(); ++i)
    if (std::isfinite(tensor.at(i))) largest = std::max(largest, std::abs(tensor.at(i)));
  return largest;
}

bool agree(double a, double b, double allowed) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed;
}

std::string difference(const std::string& name, const RefTensor& before, const RefTensor& after, double tolerance) {
  if (before.type != after.type)
    return fmt::format("\"{}\" was {} and is {}", name, to_string(before.type), to_string(after.type));
  const double allowed = tolerance == 0 ? 0 : tolerance * scale_of(before);
  for (int64_t i = 0; i < before.numel(); ++i)
    if (!agree(before.at(i), after.at(i), allowed))
      return fmt::format("\"{}\" was {} at {} and is {}; allowed is a difference of {}", name, before.at(i), i,
                         after.at(i), allowed);
  return {};
}

}  // namespace

Observed observe(const Graph& graph, const std::map<std::string, RefTensor>& inputs, RefPrecision precision) {
  Interpretation result = interpret(graph, inputs, precision);
  for (auto& [name, tensor] : result.states) result.outputs.insert_or_assign("state of " + name, std::move(tensor));
  return std::move(result.outputs);
}

Promise promise_of(std::span<const Pass* const> passes) {
  Promise promise;
  for (const Pass* pass : passes) {
    if (pass->contract.preserves == Preserves::tolerance)
      promise.tolerance = std::max(promise.tolerance, pass->contract.relative_tolerance);
    if (pass->contract.preserves == Preserves::common_outputs) promise.all_outputs = promise.same_gradients = false;
  }
  return promise;
}

std::string breach(const Promise& promise, const Graph& graph, const Observed& before, const Observed& after) {
  for (const auto& [name, tensor] : before) {
    const auto now = after.find(name);
    if (now == after.end()) {
      if (promise.all_outputs) return fmt::format("\"{}\" is gone", name);
      continue;
    }
    const auto output = std::ranges::find(graph.outputs(), name, &GraphOutput::name);
    const bool gradient = output != graph.outputs().end() && output->role == OutputRole::gradient;
    if (gradient && !promise.same_gradients) continue;
    if (std::string found = difference(name, tensor, now->second, promise.tolerance); !found.empty()) return found;
  }
  return {};
}

}  // namespace stepc::corpus
