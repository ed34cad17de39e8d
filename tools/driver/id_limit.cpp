#include "tools/driver/id_limit.h"

#include "ir/op_def.h"

#include <set>

namespace stepc {
namespace {

class LimitSearch {
 public:
  explicit LimitSearch(Through through) : through_(through) {}

  void visit(const Graph& graph, ValueId value, std::set<ValueId>& seen) {
    if (is_float(graph.dtype(value)) || !seen.insert(value).second) return;
    for (const Use& use : graph.value(value).uses) {
      const Node& node = graph.node(use.node);
      note_limit(graph, node, use.operand);
      if (node.op == Op::fused) {
        std::set<ValueId> inside;
        visit(*node.body, node.body->inputs()[static_cast<size_t>(use.operand)].value, inside);
        for (size_t i = 0; i < node.outputs.size(); ++i)
          if (inside.contains(node.body->outputs()[i].value)) visit(graph, node.outputs[i], seen);
      } else if (passes_ids(node, use.operand)) {
        visit(graph, node.outputs[0], seen);
      }
    }
  }

  std::optional<int64_t> limit() const { return limit_; }

 private:
  void note_limit(const Graph& graph, const Node& node, int32_t operand) {
    const bool is_linear_loss = node.op == Op::linear_cross_entropy || node.op == Op::linear_cross_entropy_backward;
    if (operand != (is_linear_loss ? 2 : 1)) return;
    const Shape& data = graph.shape(node.inputs[0]);
    int64_t size = 0;
    if (node.op == Op::gather || node.op == Op::gather_elements)
      size = data[normalize_axis(node.attrs.integer("axis"), data.rank())];
    else if (node.op == Op::cross_entropy)
      size = data[data.rank() - 1];
    else if (is_linear_loss)
      size = graph.shape(node.inputs[1])[0];
    else
      return;
    if (!limit_ || size < *limit_) limit_ = size;
  }

  bool passes_ids(const Node& node, int32_t operand) const {
    if (node.op == Op::select) return operand > 0 && through_ == Through::selects;
    return op_def(node.op).kind == OpKind::view || node.op == Op::cast;
  }

  Through through_;
  std::optional<int64_t> limit_;
};

}  // namespace

std::optional<int64_t> id_limit(const Graph& graph, ValueId input, Through through) {
  LimitSearch search(through);
  std::set<ValueId> seen;
  search.visit(graph, input, seen);
  return search.limit();
}

}  // namespace stepc
