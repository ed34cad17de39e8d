#pragma once

#include "ir/plan.h"
#include "passes/pass.h"

namespace stepc {

// Linear cross-entropy spares the memory of logits from some 128 rows on; with fewer, its scratch is larger than they.
// Where that is what holds the plan's peak, a note says so.
void note_loss_at_peak(const Graph& graph, const Plan& plan, PassContext& context);

}  // namespace stepc
