#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <optional>

namespace stepc {

// What may stand between an integer input and what it indexes.
enum class Through : uint8_t {
  views,    // nothing that changes an element: each is an index as it is
  selects,  // also a choice between it and another index: ignored labels become a class that exists
};

// How many different indices an integer input may hold: the smallest axis that a gather indexes with it, or the
// classes of the cross-entropy that reads it. Nothing where the graph does not bound it.
std::optional<int64_t> id_limit(const Graph& graph, ValueId input, Through through);

}  // namespace stepc
