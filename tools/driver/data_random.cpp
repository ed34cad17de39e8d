#include "tools/driver/data_random.h"

#include "ir/op_def.h"
#include "ir/support/error.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

namespace stepc {
namespace {

int64_t limit_by(const Graph& graph, const Node& node, int32_t operand) {
  if (operand != 1) return std::numeric_limits<int64_t>::max();
  const Shape& data = graph.shape(node.inputs[0]);
  switch (node.op) {
    case Op::gather:
    case Op::gather_elements: return data[normalize_axis(node.attrs.integer("axis"), data.rank())];
    case Op::cross_entropy: return data[data.rank() - 1];
    default: return std::numeric_limits<int64_t>::max();
  }
}

// Whether the ids pass through a node unchanged, so that what reads its result bounds them too.
bool passes_ids(const Node& node) {
  return op_def(node.op).kind == OpKind::view || node.op == Op::cast || node.op == Op::select;
}

void find_limits(const Graph& graph, ValueId value, std::set<ValueId>& seen, int64_t& limit) {
  if (!seen.insert(value).second) return;
  for (const Use& use : graph.value(value).uses) {
    const Node& node = graph.node(use.node);
    limit = std::min(limit, limit_by(graph, node, use.operand));
    if (passes_ids(node) && !is_float(graph.dtype(node.outputs[0]))) find_limits(graph, node.outputs[0], seen, limit);
    if (node.op != Op::fused) continue;
    std::set<ValueId> inside;
    find_limits(*node.body, node.body->inputs()[static_cast<size_t>(use.operand)].value, inside, limit);
    for (size_t i = 0; i < node.outputs.size(); ++i)  // ids that leave the body are bounded by their readers outside
      if (inside.contains(node.body->outputs()[i].value)) find_limits(graph, node.outputs[i], seen, limit);
  }
}

}  // namespace

int64_t id_limit(const Graph& graph, ValueId input) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  std::set<ValueId> seen;
  find_limits(graph, input, seen, limit);
  return limit == std::numeric_limits<int64_t>::max() ? 1 : limit;
}

Batch RandomData::batch(const Graph& graph, int64_t index) const {
  std::mt19937_64 random(seed_ * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(index));
  Batch batch;
  for (const GraphInput& input : graph.inputs()) {
    if (input.role != InputRole::data && input.role != InputRole::label) continue;
    Tensor tensor(graph.type(input.value));
    const Dtype dtype = tensor.type().dtype;
    const bool mask = dtype == Dtype::boolean || input.name.find("mask") != std::string::npos;
    const int64_t limit = is_float(dtype) || mask ? 1 : id_limit(graph, input.value);
    if (limit == 0) user_error("input '{}' indexes a table without rows: no random data fits", input.name);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < tensor.type().shape.numel(); ++i)
      set_element(tensor, i,
                  mask              ? 1
                  : is_float(dtype) ? normal(random)
                                    : static_cast<double>(random() % static_cast<uint64_t>(limit)));
    batch.emplace(input.name, std::move(tensor));
  }
  return batch;
}

std::string RandomData::describe() const {
  return fmt::format("random inputs of seed {} (--data FILE gives real ones)", seed_);
}

}  // namespace stepc
