#include "runtime/gpu/scratch.h"

#include "codegen/cuda/program.h"
#include "runtime/gpu/contraction.h"

#include <algorithm>

namespace stepc {

// A contraction that is planned for the library can still be generated, where the library is missing.
int64_t GpuScratch::scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const {
  constexpr int64_t kBlockAlignment = 64;  // of an offset in the arena
  const Kernel kernel = describe_kernel(graph, node, layouts_of(layouts));
  const int64_t generated = cuda::scratch_bytes(kernel);
  if (!library_ || !is_planned_for_library(kernel)) return generated;
  const int64_t workspace = library_workspace_bytes(std::get<MatmulWork>(kernel.work));
  return std::max(generated, workspace + kWorkspaceAlignment - kBlockAlignment);
}

}  // namespace stepc
