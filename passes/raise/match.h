#pragma once

#include "ir/graph.h"

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace stepc {

// The vocabulary in which the raising rules describe what exporters write.

// The node that makes v where it is an `op`, else null.
const Node* made_by(const Graph& graph, ValueId v, Op op);

// v is read once and is no output: it goes when its reader goes. Rules look through such values only, so that raising
// never leaves the work of the parts beside the work of the whole.
bool read_once(const Graph& graph, ValueId v);
// All readers are among `readers`, and v is no output.
bool read_only_by(const Graph& graph, ValueId v, std::initializer_list<NodeId> readers);

// made_by where v is also read once.
const Node* part(const Graph& graph, ValueId v, Op op);

// v is the constant `expected` everywhere, as its dtype holds it or as some exporter rounded it (1e-6 for f32).
bool is_number(const Graph& graph, ValueId v, double expected);

// The operands of a binary node in both orders: {a, b} and {b, a}.
std::vector<std::pair<ValueId, ValueId>> both_orders(const Node& node);

// v as factor · Π values, written out through multiplications, divisions by constants, negations and small powers of
// values that are read once. v itself is not required to be read once.
struct Product {
  double factor = 1;
  std::vector<ValueId> values;  // sorted
};
Product product_of(const Graph& graph, ValueId v);

// v as value + number, for a constant number.
struct Shifted {
  ValueId value;
  double number = 0;
};
std::optional<Shifted> shifted(const Graph& graph, ValueId v);

// v as the mean of `of` over the axes from `axis` to the last, kept with size 1.
struct TrailingMean {
  ValueId of;
  size_t axis = 0;
};
std::optional<TrailingMean> trailing_mean_of(const Graph& graph, ValueId v);

// The origin of what replaces the nodes between `root` and `leaves`: the root's, with the ONNX names of all of them.
Origin covered_origin(const Graph& graph, NodeId root, const std::vector<ValueId>& leaves);

}  // namespace stepc
