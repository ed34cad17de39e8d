#pragma once

#include "ir/graph.h"

#include <map>
#include <span>
#include <vector>

namespace stepc {

// Whether a value costs nothing to make inside a kernel, so that each body gets its own copy: a constant of one
// element that can be a literal (ir/uniform_constant.h), or iota.
bool is_free_source(const Graph& graph, ValueId value);

// Distinct values that the nodes read from outside, in order of first use; free sources do not count.
std::vector<ValueId> external_operands(const Graph& graph, std::span<const NodeId> nodes);
// Results of the nodes that something outside reads, in order of production.
std::vector<ValueId> external_results(const Graph& graph, std::span<const NodeId> nodes);

// Appends a copy of a node to a body, operands and results by way of the map from values outside to those inside.
void copy_into(Graph& body, const Graph& graph, NodeId id, std::map<ValueId, ValueId>& inside);
// Of a kernel of several nodes: the latest phase, the scope and the ONNX nodes that they share.
Origin merged_origin(const Graph& graph, std::span<const NodeId> nodes);

// What one fused node will hold.
struct Outline {
  std::vector<NodeId> nodes;     // computed here
  std::vector<NodeId> copies;    // computed here as well as, or instead of, where they stand
  std::vector<ValueId> results;  // of `nodes`, read outside
};

// Builds fused nodes beside the nodes that they replace: readers and nodes change hands in `finish`, so that every
// outline sees the graph as it was.
class Outliner {
 public:
  explicit Outliner(Graph& graph) : graph_(graph) {}

  // Appends a fused node to the graph whose body computes the results, in an order that respects dependences, with free
  // sources beside it. Its phase is the latest of its nodes'; body nodes keep their own. Operands are made by then.
  void add(const Outline& outline);
  // Readers of the outlined results read the fused nodes' instead; what nobody reads any more is erased.
  void finish();

 private:
  Graph& graph_;
  std::map<ValueId, ValueId> replacements_;
};

}  // namespace stepc
