#pragma once

#include "ir/plan.h"

namespace stepc {

// The scratch of every CPU kernel: partial results of two-stage reductions, oneDNN's own for convolutions. Matrix
// products pack their operands in memory of oneDNN's that it does not let others provide.
class CpuScratch : public LibraryScratch {
 public:
  int64_t scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const override;
};

}  // namespace stepc
