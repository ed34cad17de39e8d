#pragma once

#include "ir/plan.h"

namespace stepc {

// The scratch of every generated CUDA kernel.
class GpuScratch : public LibraryScratch {
 public:
  int64_t scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const override;
};

}  // namespace stepc
