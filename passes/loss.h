#pragma once

#include <string_view>

namespace stepc {

// The metric output beside a loss that is left as a sum (--accumulate): how many elements it sums, f32.
constexpr std::string_view kLossCount = "loss_count";

}  // namespace stepc
