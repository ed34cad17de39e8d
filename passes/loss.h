#pragma once

#include "ir/graph.h"

#include <string_view>

namespace stepc {

// The loss's output. A model that keeps an output of that name keeps the name, too.
constexpr std::string_view kLoss = "loss";
constexpr std::string_view kLossBesideOutput = "stepc.loss";

// With --accumulate the loss of a micro-step is left as a sum, and a metric beside it says how many elements it sums
// (f32; absent where the loss is a sum by nature).
constexpr std::string_view kLossSum = "loss_sum";
constexpr std::string_view kLossCount = "loss_count";

// --precision fp16: the state that the loss is multiplied by, also a metric, and the metric that says whether the step
// changed nothing because a gradient was not finite.
constexpr std::string_view kLossScale = "loss_scale";
constexpr std::string_view kSkipped = "skipped";

// The name that the step's loss has or will have.
std::string_view loss_output_name(const Graph& graph);

}  // namespace stepc
