#pragma once

#include "ir/plan.h"

namespace stepc {

// The scratch of every generated CUDA kernel and, for target cuda, the workspace of the contractions that are planned
// for cuBLASLt (contraction.h).
class GpuScratch : public LibraryScratch {
 public:
  explicit GpuScratch(bool library) : library_(library) {}
  int64_t scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const override;

 private:
  bool library_;
};

}  // namespace stepc
