#include "ir/cost/roofline.h"

#include "ir/einsum.h"
#include "ir/kernel/attention.h"
#include "ir/kernel/linear_cross_entropy.h"
#include "ir/op_def.h"

#include <algorithm>

namespace stepc {
namespace {

Prediction roofline(const KernelTraffic& traffic, double flops_per_us, const DeviceSpec& device) {
  const double memory_us = static_cast<double>(traffic.read_bytes + traffic.write_bytes) / device.bytes_per_us;
  const double compute_us = static_cast<double>(traffic.flops) / flops_per_us;
  const double busy_us = std::max(memory_us, compute_us);
  const Bound busy = compute_us > memory_us ? Bound::compute : Bound::memory;
  return {device.launch_us + busy_us, device.launch_us > busy_us ? Bound::launch : busy};
}

// FLOP/µs of a library's products; generated kernels' where it has none of the dtype.
double library_flops_per_us(const DeviceSpec& device, Dtype dtype, bool tf32) {
  const double reached = contraction_peak(device, dtype, tf32) * device.contraction_fraction;
  return reached > 0 ? reached : device.flops_per_us;
}

// The contraction or convolution that a node is or holds; null: none.
const Node* contraction_of(const Node& node) {
  if (node.op != Op::fused) return op_def(node.op).kind == OpKind::contraction ? &node : nullptr;
  for (NodeId id = node.body->first(); id.valid(); id = node.body->next(id))
    if (const Node* found = contraction_of(node.body->node(id))) return found;
  return nullptr;
}

}  // namespace

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::compute: return "compute";
    case Bound::memory: return "memory";
    case Bound::launch: return "launch";
  }
  return "";
}

double predicted_us(const KernelTraffic& traffic, const DeviceSpec& device) {
  return roofline(traffic, device.flops_per_us, device).us;
}

double predicted_us(const Graph& graph, const Node& node, const DeviceSpec& device) {
  const Cost cost = node_cost(graph, node);
  const Node* contraction = contraction_of(node);
  const double flops_per_us = contraction != nullptr ? library_flops_per_us(device, graph.dtype(node.inputs[0]),
                                                                            allows_tf32(contraction->attrs))
                                                     : device.flops_per_us;
  return roofline({cost.read_bytes, cost.write_bytes, 0, cost.flops}, flops_per_us, device).us;
}

KernelTraffic traffic_on(const Graph& graph, const Kernel& kernel, const DeviceSpec& device) {
  if (const auto* attention = std::get_if<AttentionWork>(&kernel.work))
    return attention_traffic(graph, kernel.buffers, *attention, device.reuse_bytes);
  if (const auto* loss = std::get_if<LinearCrossEntropyWork>(&kernel.work))
    return linear_cross_entropy_traffic(*loss, kernel.buffers, device.reuse_bytes);
  return kernel.traffic;
}

Prediction predict(const Graph& graph, const Kernel& kernel, const DeviceSpec& device) {
  const auto* product = std::get_if<MatmulWork>(&kernel.work);
  const double flops_per_us =
      kernel.is_library() ? library_flops_per_us(device, kernel.buffers[0].dtype, product != nullptr && product->tf32)
                          : device.flops_per_us;
  Prediction prediction = roofline(traffic_on(graph, kernel, device), flops_per_us, device);
  prediction.us += static_cast<double>(launches_of(kernel) - 1) * device.launch_us;
  return prediction;
}

}  // namespace stepc
