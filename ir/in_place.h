#pragma once

#include "ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace stepc {

// Which results of a graph's nodes may be written over operands. Examines a body once, however many results it has.
class InPlace {
 public:
  explicit InPlace(const Graph& graph) : graph_(graph) {}

  // Whether output `output` of a node may be written over operand `operand`: both have the same type, and every kernel
  // of the node has read an element of that operand for the last time when it stores that element of the result. So it
  // is for maps, for rows that are reduced first and stored then, for the base of a scatter, and for what is but added
  // to a contraction. Kernels load all operands of an element before they store its results, so several outputs may
  // each overwrite an operand. Says nothing about lifetimes or layouts: the operand must be row-major and dead
  // afterwards.
  bool may_overwrite(const Node& node, size_t output, size_t operand);

 private:
  struct Body {
    explicit Body(const Graph& body);
    bool is_contraction = false;
    bool keeps_coordinates = true;      // nothing reads at other coordinates than it is read at
    std::vector<int32_t> part_of_node;  // per node index, -1 for sources; parts run in any order
  };

  const Body& examined(const Graph& body) { return bodies_.try_emplace(&body, body).first->second; }

  const Graph& graph_;
  std::map<const Graph*, Body> bodies_;
};

}  // namespace stepc
