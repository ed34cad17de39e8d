#include "ir/builder.h"
#include "passes/raise/match.h"
#include "passes/raise/rules.h"
#include "passes/rewrite.h"

#include <limits>

namespace stepc {
namespace {

// Stands for "no label is ignored": no label can have this value.
constexpr int64_t kIgnoreNothing = std::numeric_limits<int32_t>::min();

// The labels behind views that only add axes of size 1, where they are an input that is given as labels: such labels
// are classes, and never the negative positions that a gather would count from the end.
ValueId labels_behind(const Graph& graph, ValueId index, const Shape& rows) {
  const Node* node = graph.producer(index);
  while (node != nullptr && node->op == Op::reshape) {
    index = node->inputs[0];
    node = graph.producer(index);
  }
  const GraphInput* input = graph.input_of(index);
  const bool fits = input != nullptr && input->role == InputRole::label && graph.shape(index).numel() == rows.numel();
  return fits ? index : kNoValue;
}

}  // namespace

// log_softmax(x) at the label of each row is −cross_entropy(x, labels), row by row
bool raise_cross_entropy(Graph& graph, NodeId id) {
  const Node& picked = graph.node(id);
  const Node* log_prob = part(graph, picked.inputs[0], Op::log_softmax);
  if (log_prob == nullptr) return false;
  const ValueId x = log_prob->inputs[0];
  const Shape shape = graph.shape(x);
  const auto last = static_cast<int64_t>(shape.rank()) - 1;
  if (last < 1 || log_prob->attrs.integer("axis") != last || picked.attrs.integer("axis") != last) return false;
  const Shape rows = Shape(Dims(shape.begin(), shape.end() - 1));
  const Shape& index_shape = graph.shape(picked.inputs[1]);
  if (index_shape[static_cast<size_t>(last)] != 1 || index_shape.numel() != rows.numel()) return false;
  const ValueId labels = labels_behind(graph, picked.inputs[1], rows);
  const bool is_stored_as_statistics = graph.dtype(x) == Dtype::f32 || graph.dtype(x) == Dtype::f64;
  if (!labels.valid() || !is_stored_as_statistics) return false;
  Builder b(graph, covered_origin(graph, id, {x, labels}), id);
  const ValueId loss = b.make(Op::cross_entropy, {x, b.reshape(labels, rows)},
                              {{"reduction", std::string("none")}, {"ignore_index", kIgnoreNothing}});
  replace_node(graph, id, b.neg(b.reshape(loss, graph.shape(picked.outputs[0]))));
  return true;
}

}  // namespace stepc
