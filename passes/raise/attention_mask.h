#pragma once

#include "ir/attention.h"
#include "ir/graph.h"

#include <cstdint>
#include <optional>

namespace stepc {

// How large a value can be. Masks are sums of what a model learned (moderate) and of the least finite number (huge):
// one of them hides a key, two of them are −∞, and a row of −∞ alone is a NaN in plain softmax.
enum class Magnitude : uint8_t { unit, moderate, huge, infinite };
Magnitude magnitude_of(const Graph& graph, ValueId v);
Magnitude sum_of(Magnitude a, Magnitude b);

// Every row along the last axis of this bool value has an element equal to `attend`, which only a constant or a causal
// mask can promise.
bool leaves_a_key(const Graph& graph, ValueId mask, bool attend);

// The offset d where the mask is j <= i + d on its last two axes, in every plane, constant or computed: as bool, equal
// to `attend` there and not elsewhere, or added as 0 and a number that no score makes up for. No row is without a key.
std::optional<int64_t> causal_offset(const Graph& graph, ValueId mask, bool attend);

// How many pairs of a query and a key, over all batches and heads, the limits and the mask operand (or kNoValue) let
// through. Nothing where the mask is no constant.
std::optional<int64_t> unmasked_pairs(const Graph& graph, const Attention& attention, ValueId mask);

}  // namespace stepc
