#pragma once

#include "ir/graph.h"
#include "passes/pass.h"

#include <cstdint>

namespace stepc {

// Bytes of the arena's blocks alive at the worst instant of the list schedule.
int64_t scheduled_peak(const Graph& graph);

// A pass that joins kernels keeps what they read alive for longer: where that costs more than 1 % of the peak it had
// `before`, its row in the report says so.
void note_raised_peak(const Graph& graph, int64_t before, PassContext& context);

}  // namespace stepc
