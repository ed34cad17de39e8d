#include "runtime/cpu/scratch.h"

#include "ir/kernel.h"
#include "runtime/cpu/convolution.h"

namespace stepc {

int64_t CpuScratch::scratch_bytes(const Graph& graph, NodeId node, const Layouts& layouts) const {
  const Kernel kernel = describe_kernel(graph, node, layouts_of(layouts));
  if (kernel.kind == KernelKind::convolution)
    return ConvolutionLaunch(std::get<ConvolutionWork>(kernel.work)).scratch_bytes();
  return kernel.scratch_bytes;
}

}  // namespace stepc
