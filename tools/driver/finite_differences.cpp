#include "tools/driver/finite_differences.h"

#include "ir/interpreter.h"
#include "ir/support/error.h"

#include <cmath>
#include <map>
#include <random>

namespace stepc {
namespace {

constexpr double kStep = 1e-5;  // error of the quotient: h² of the third derivative, and 1e-16/h of rounding

using Values = std::map<std::string, RefTensor>;

Values initial_values(const Model& model, const Graph& graph, const Batch& batch) {
  Values values;
  for (const GraphInput& input : graph.inputs())
    if (input.role == InputRole::weight)
      values.emplace(input.name, RefTensor(initial_weight(model, input).view()));
    else if (const auto entry = batch.find(input.name); entry != batch.end())
      values.emplace(input.name, RefTensor(entry->second.view()));
    else
      values.emplace(input.name, RefTensor(graph.type(input.value)));
  return values;
}

const std::string& loss_name(const Graph& graph) {
  for (const GraphOutput& output : graph.outputs())
    if (output.role == OutputRole::loss) return output.name;
  user_error("the step has no loss to differentiate");
}

double loss_at(const Graph& graph, const Values& values, const std::string& name) {
  return interpret(graph, values, RefPrecision::f64).outputs.at(name).real[0];
}

std::vector<double> random_direction(size_t size, std::mt19937_64& random) {
  std::vector<double> direction(size);
  std::normal_distribution<double> normal;
  double squares = 0;
  for (double& d : direction) {
    d = normal(random);
    squares += d * d;
  }
  for (double& d : direction) d /= std::sqrt(squares);
  return direction;
}

// The graph input that a gradient output belongs to.
const GraphInput* differentiated(const Graph& graph, const std::string& output) {
  const std::string name = output.substr(output.find('/') + 1);
  for (const GraphInput& input : graph.inputs())
    if (input.role == InputRole::weight ? (input.initializer.empty() ? input.name : input.initializer) == name
                                        : input.name == name)
      return &input;
  return nullptr;
}

}  // namespace

std::vector<Difference> check_finite_differences(const Model& model, const Graph& graph, const Batch& batch,
                                                 uint64_t seed) {
  const Values values = initial_values(model, graph, batch);
  const std::string& loss = loss_name(graph);
  const Interpretation exact = interpret(graph, values, RefPrecision::f64);
  std::mt19937_64 random(seed);
  std::vector<Difference> differences;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.role != OutputRole::gradient) continue;
    const GraphInput* input = differentiated(graph, output.name);
    CHECK(input != nullptr, "gradient {}", output.name);
    const std::vector<double>& gradient = exact.outputs.at(output.name).real;
    if (gradient.empty()) continue;
    const std::vector<double> direction = random_direction(gradient.size(), random);
    Values moved = values;
    std::vector<double>& x = moved.at(input->name).real;
    double slope = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      slope += gradient[i] * direction[i];
      x[i] += kStep * direction[i];
    }
    const double above = loss_at(graph, moved, loss);
    for (size_t i = 0; i < x.size(); ++i) x[i] -= 2 * kStep * direction[i];
    const double below = loss_at(graph, moved, loss);
    const double quotient = (above - below) / (2 * kStep);
    differences.push_back({"finite differences: " + output.name, std::abs(quotient - slope),
                           1e-8 + 1e-5 * std::max(std::abs(quotient), std::abs(slope))});
  }
  return differences;
}

}  // namespace stepc
