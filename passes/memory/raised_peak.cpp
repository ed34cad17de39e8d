#include "passes/memory/raised_peak.h"

#include "passes/memory/list_schedule.h"

#include <fmt/format.h>

namespace stepc {

int64_t scheduled_peak(const Graph& graph) { return peak_of(graph, list_schedule(graph)); }

void note_raised_peak(const Graph& graph, int64_t before, PassContext& context) {
  constexpr double kTolerance = 0.01;
  const int64_t after = scheduled_peak(graph);
  if (before == 0) return;
  const double raised = static_cast<double>(after) / static_cast<double>(before) - 1;
  if (raised > kTolerance)
    context.note(fmt::format("joint kernels raise the peak of live blocks by {:.1f} %, from {} to {} bytes",
                             100 * raised, before, after));
}

}  // namespace stepc
