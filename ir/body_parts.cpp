#include "ir/body_parts.h"

#include "ir/op_def.h"

#include <numeric>

namespace stepc {
namespace {

// Disjoint sets of nodes, by index.
class NodeSets {
 public:
  explicit NodeSets(const Graph& graph) : parent_(static_cast<size_t>(graph.node_limit())) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int32_t find(int32_t node) {
    while (true) {
      int32_t& parent = parent_[static_cast<size_t>(node)];
      if (parent == node) return node;
      parent = parent_[static_cast<size_t>(parent)];
      node = parent;
    }
  }
  void join(NodeId a, NodeId b) { parent_[static_cast<size_t>(find(a.index))] = find(b.index); }

 private:
  std::vector<int32_t> parent_;
};

bool is_source(const Graph& body, NodeId id) { return op_def(body.node(id).op).kind == OpKind::source; }

}  // namespace

std::vector<std::vector<NodeId>> body_parts(const Graph& body) {
  NodeSets sets(body);
  const auto join_readers = [&](ValueId value, NodeId with) {
    for (const Use& use : body.value(value).uses) {
      if (!with.valid()) with = use.node;
      sets.join(use.node, with);
    }
  };
  for (const GraphInput& input : body.inputs())
    if (body.shape(input.value).numel() > 1) join_readers(input.value, kNoNode);
  for (NodeId id = body.first(); id.valid(); id = body.next(id))
    if (!is_source(body, id))
      for (const ValueId output : body.node(id).outputs) join_readers(output, id);

  std::vector<std::vector<NodeId>> parts;
  std::vector<int32_t> part_of_set(static_cast<size_t>(body.node_limit()), -1);
  for (NodeId id = body.first(); id.valid(); id = body.next(id)) {
    if (is_source(body, id)) continue;
    int32_t& part = part_of_set[static_cast<size_t>(sets.find(id.index))];
    if (part < 0) {
      part = static_cast<int32_t>(parts.size());
      parts.emplace_back();
    }
    parts[static_cast<size_t>(part)].push_back(id);
  }
  return parts;
}

}  // namespace stepc
