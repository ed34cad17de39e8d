#pragma once

#include "ir/interpreter.h"
#include "tests/ops/samples.h"

#include <map>
#include <string>
#include <vector>

namespace stepc::test {

// A graph that holds one sample's node: inputs "x<i>" of its operands' types, outputs "y<i>".
struct OpCase {
  explicit OpCase(const Sample& sample);

  std::vector<RefTensor> evaluate(RefPrecision precision = RefPrecision::f64) const;  // y0, y1, ...

  // Adds the node's VJP: inputs "g<i>" for the outputs with a cotangent, outputs "dx<i>" for the gradients it gives.
  void add_vjp(const std::vector<std::optional<RefTensor>>& cotangents, const std::vector<size_t>& needed);
  // Per operand, nullopt where the VJP gives none.
  std::vector<std::optional<RefTensor>> gradients() const;

  Graph graph;
  NodeId node;
  std::map<std::string, RefTensor> inputs;
};

// The operands of a sample that must receive a gradient.
std::vector<size_t> differentiable(const Sample& sample);

// The gradients of Σ cotangent · y, with every cotangent one.
std::vector<std::optional<RefTensor>> ones_gradients(const Sample& sample);

}  // namespace stepc::test
