#include "tests/ops/op_case.h"

#include "ir/op_def.h"
#include "ir/support/error.h"

#include <algorithm>
#include <array>

namespace stepc::test {
namespace {

std::string numbered(const char* prefix, size_t i) { return fmt::format("{}{}", prefix, i); }

}  // namespace

OpCase::OpCase(const Sample& sample) {
  std::vector<ValueId> operands;
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    const std::optional<RefTensor>& operand = sample.operands[i];
    if (operand) inputs.emplace(numbered("x", i), *operand);
    operands.push_back(operand ? graph.add_input(operand->type, InputRole::data, numbered("x", i)) : kNoValue);
  }
  Builder b(graph);
  node = sample.make ? sample.make(b, operands) : b.make_node(sample.op, operands, sample.attrs);
  const std::vector<ValueId> outputs = graph.node(node).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) graph.add_output(outputs[i], OutputRole::output, numbered("y", i));
}

std::vector<RefTensor> OpCase::evaluate(RefPrecision precision) const {
  const Interpretation run = interpret(graph, inputs, precision);
  std::vector<RefTensor> results;
  for (size_t i = 0; i < graph.node(node).outputs.size(); ++i) results.push_back(run.outputs.at(numbered("y", i)));
  return results;
}

void OpCase::add_vjp(const std::vector<std::optional<RefTensor>>& cotangents, const std::vector<size_t>& needed) {
  std::vector<ValueId> gradients;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    const std::optional<RefTensor>& g = cotangents[i];
    if (g) inputs.emplace(numbered("g", i), *g);
    gradients.push_back(g ? graph.add_input(g->type, InputRole::data, numbered("g", i)) : kNoValue);
  }
  std::array<bool, 32> flags{};
  for (const size_t i : needed) flags.at(i) = true;
  Builder b(graph);
  b.set_phase(Phase::backward);
  VjpArgs v(b, node, gradients, std::span(flags).first(graph.node(node).inputs.size()));
  op_def(graph.node(node).op).vjp(v);
  for (size_t i = 0; i < v.gradients().size(); ++i)
    if (v.gradients()[i].valid()) graph.add_output(v.gradients()[i], OutputRole::gradient, numbered("dx", i));
}

std::vector<std::optional<RefTensor>> OpCase::gradients() const {
  Interpretation run = interpret(graph, inputs, RefPrecision::f64);
  std::vector<std::optional<RefTensor>> result(graph.node(node).inputs.size());
  for (size_t i = 0; i < result.size(); ++i)
    if (const auto found = run.outputs.find(numbered("dx", i)); found != run.outputs.end()) result[i] = found->second;
  return result;
}

std::vector<size_t> differentiable(const Sample& sample) {
  if (sample.gradients) return *sample.gradients;
  std::vector<size_t> result;
  if (op_def(sample.op).vjp == nullptr) return result;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    if (sample.operands[i] && sample.operands[i]->type.dtype == Dtype::f64) result.push_back(i);
  return result;
}

std::vector<std::optional<RefTensor>> ones_gradients(const Sample& sample) {
  OpCase c(sample);
  std::vector<std::optional<RefTensor>> ones;
  for (const RefTensor& y : c.evaluate()) {
    ones.emplace_back();
    if (!y.is_real()) continue;
    ones.back() = RefTensor(y.type);
    std::fill(ones.back()->real.begin(), ones.back()->real.end(), 1.0);
  }
  std::vector<size_t> floats;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    if (sample.operands[i] && sample.operands[i]->is_real()) floats.push_back(i);
  c.add_vjp(ones, floats);
  return c.gradients();
}

}  // namespace stepc::test
