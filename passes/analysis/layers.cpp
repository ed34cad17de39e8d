#include "passes/analysis/layers.h"

#include "passes/fusion/step_part.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stepc {
namespace {

class LayerFinder {
 public:
  explicit LayerFinder(const Graph& graph) : graph_(graph) {
    layers_.of_node.assign(static_cast<size_t>(graph.node_limit()), -1);
  }

  Layers run() {
    const std::vector<NodeId> order = graph_.order();
    std::map<std::string_view, int32_t> known;
    for (const NodeId id : order)
      if (const std::string_view scope = layer_scope(graph_.node(id).origin.scope); is_forward(id) && !scope.empty())
        layer(id) = known.try_emplace(scope, static_cast<int32_t>(known.size())).first->second;
    layers_.count = static_cast<int32_t>(known.size());
    for (auto id = order.rbegin(); id != order.rend(); ++id)
      if (is_forward(*id) && layer(*id) < 0) take_from_readers(*id);
    return std::move(layers_);
  }

 private:
  int32_t& layer(NodeId id) { return layers_.of_node[static_cast<size_t>(id.index)]; }
  bool is_forward(NodeId id) const { return part_of_step(graph_.node(id).origin.phase) == StepPart::forward; }

  void take_from_readers(NodeId id) {
    std::optional<int32_t> common;
    for (const ValueId output : graph_.node(id).outputs)
      for (const Use& use : graph_.value(output).uses) {
        if (!is_forward(use.node)) continue;
        if (common && *common != layer(use.node)) return;
        common = layer(use.node);
      }
    const bool reads_it = common && std::ranges::any_of(graph_.node(id).inputs, [&](ValueId operand) {
                            const NodeId producer = operand.valid() ? graph_.value(operand).producer : kNoNode;
                            return producer.valid() && layer(producer) == *common;
                          });
    if (reads_it) layer(id) = *common;
  }

  const Graph& graph_;
  Layers layers_;
};

}  // namespace

std::string_view layer_scope(std::string_view scope) {
  for (size_t begin = 0; begin < scope.size();) {
    const size_t end = std::min(scope.find('.', begin), scope.size());
    const std::string_view part = scope.substr(begin, end - begin);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) return scope.substr(0, end);
    begin = end + 1;
  }
  return {};
}

Layers find_layers(const Graph& graph) { return LayerFinder(graph).run(); }

}  // namespace stepc
