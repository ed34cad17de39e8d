#pragma once

#include "ir/graph.h"

#include <array>
#include <span>

namespace stepc {

// A rule looks at one node as the last of a pattern. Where the pattern is there it puts one operation in its place and
// answers true, else it leaves the graph alone. The result is mathematically the same for every input; it differs in
// rounding only. A value in the middle of a pattern that something else reads keeps the pattern as it is.
using RaisingRule = bool (*)(Graph& graph, NodeId id);

struct RulesOfOp {
  Op op;
  std::array<RaisingRule, 6> rules;  // in the order in which they are tried; null where there are fewer
};

// Tries the rules of each node's op, operands before their readers. Returns whether the graph changed.
bool raise_all(Graph& graph, std::span<const RulesOfOp> table);

// activations.cpp
bool raise_rsqrt(Graph& graph, NodeId id);
bool raise_silu(Graph& graph, NodeId id);
bool raise_gelu(Graph& graph, NodeId id);

// norms.cpp
bool raise_layer_norm(Graph& graph, NodeId id);
bool raise_rms_norm(Graph& graph, NodeId id);
bool absorb_norm_scale(Graph& graph, NodeId id);
bool absorb_norm_bias(Graph& graph, NodeId id);

// softmax.cpp
bool raise_softmax(Graph& graph, NodeId id);
bool raise_safe_softmax(Graph& graph, NodeId id);

// rotary.cpp
bool raise_rotary(Graph& graph, NodeId id);

// attention.cpp
bool raise_attention(Graph& graph, NodeId id);
// Whether a contraction stays apart from the softmax before it for this alone: a mask might hide every key from a
// query, which softmax makes NaN and attention 0.
bool may_lack_keys(const Graph& graph, NodeId id);

// cross_entropy.cpp
bool raise_cross_entropy(Graph& graph, NodeId id);

}  // namespace stepc
