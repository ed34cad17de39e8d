#include "runtime/gpu/scratch.h"

#include "codegen/cuda/program.h"

namespace stepc {

int64_t GpuScratch::scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const {
  return cuda::scratch_bytes(describe_kernel(graph, node, layouts_of(layouts)));
}

}  // namespace stepc
