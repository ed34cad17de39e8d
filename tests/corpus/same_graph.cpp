#include "tests/corpus/same_graph.h"

#include "ir/printer.h"

#include <fmt/format.h>

#include <vector>

namespace stepc::corpus {
namespace {

// Walks two graphs side by side; values correspond where they were defined at the same place.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b), counterpart_(static_cast<size_t>(a.value_limit())) {}

  std::string run() {
    if (a_.name != b_.name) return "names of the graph";
    if (!same_inputs()) return "inputs";
    NodeId in_b = b_.first();
    for (NodeId id = a_.first(); id.valid(); id = a_.next(id), in_b = b_.next(in_b)) {
      if (!in_b.valid()) return "the second graph has fewer nodes";
      if (const std::string found = node_difference(a_.node(id), b_.node(in_b)); !found.empty())
        return fmt::format("{} of {}", found, print_node(a_, id));
    }
    if (in_b.valid()) return "the second graph has more nodes";
    if (!same_outputs()) return "outputs";
    return same_states() ? "" : "states";
  }

 private:
  bool same(ValueId a, ValueId b) const {
    return a.valid() ? counterpart_[static_cast<size_t>(a.index)] == b : !b.valid();
  }

  // Whether two definitions have the same type; from then on they correspond.
  bool define(ValueId a, ValueId b) {
    counterpart_[static_cast<size_t>(a.index)] = b;
    return a_.type(a) == b_.type(b);
  }

  bool same_inputs() {
    if (a_.inputs().size() != b_.inputs().size()) return false;
    for (size_t i = 0; i < a_.inputs().size(); ++i) {
      const GraphInput& a = a_.inputs()[i];
      const GraphInput& b = b_.inputs()[i];
      if (!define(a.value, b.value) || a.role != b.role || a.name != b.name || a.initializer != b.initializer ||
          a.trainable != b.trainable || a.initial != b.initial)
        return false;
    }
    return true;
  }

  std::string node_difference(const Node& a, const Node& b) {
    if (a.op != b.op) return "operation";
    if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return "arity";
    for (size_t i = 0; i < a.inputs.size(); ++i)
      if (!same(a.inputs[i], b.inputs[i])) return "operands";
    for (size_t i = 0; i < a.outputs.size(); ++i)
      if (!define(a.outputs[i], b.outputs[i])) return "types";
    if (a.attrs != b.attrs) return "attributes";
    if (a.origin != b.origin) return "origin";
    if ((a.constant == nullptr) != (b.constant == nullptr) || (a.constant && *a.constant != *b.constant))
      return "payload";
    if ((a.body == nullptr) != (b.body == nullptr)) return "body";
    return a.body ? Comparison(*a.body, *b.body).run() : "";
  }

  bool same_outputs() const {
    if (a_.outputs().size() != b_.outputs().size()) return false;
    for (size_t i = 0; i < a_.outputs().size(); ++i) {
      const GraphOutput& a = a_.outputs()[i];
      const GraphOutput& b = b_.outputs()[i];
      if (!same(a.value, b.value) || a.role != b.role || a.name != b.name) return false;
    }
    return true;
  }

  bool same_states() const {
    if (a_.states().size() != b_.states().size()) return false;
    for (size_t i = 0; i < a_.states().size(); ++i)
      if (!same(a_.states()[i].input, b_.states()[i].input) || !same(a_.states()[i].output, b_.states()[i].output))
        return false;
    return true;
  }

  const Graph& a_;
  const Graph& b_;
  std::vector<ValueId> counterpart_;  // in b, per value index of a
};

}  // namespace

std::string first_difference(const Graph& a, const Graph& b) { return Comparison(a, b).run(); }

}  // namespace stepc::corpus
