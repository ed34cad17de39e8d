#include "runtime/cpu/scratch.h"

#include "runtime/cpu/library.h"

namespace stepc {

int64_t CpuScratch::scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const {
  const Kernel kernel = cpu::describe(graph, node, layouts_of(layouts), products_);
  if (products_ == cpu::Products::library && kernel.is_library()) return make_library_launch(kernel)->scratch_bytes();
  return kernel.scratch_bytes;
}

}  // namespace stepc
