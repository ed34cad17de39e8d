#include "passes/fusion/operand_recompute.h"

#include "passes/fusion/region_nodes.h"

#include <algorithm>

namespace stepc {
namespace {

// Nodes that are computed again so that one value need not be read.
constexpr size_t kMaxSlice = 16;
// A value that is nowhere stored frees memory too: worth a little more time than storing it.
constexpr double kPatience = 1.0625;
// Readers of a value that is worth it.
constexpr size_t kMaxReaders = 8;
// Smaller values of the update are the scalars of a step, which every update reads.
constexpr int64_t kLargeBytes = 1 << 16;

}  // namespace

OperandRecompute::OperandRecompute(const Graph& graph, const DeviceSpec& device, Partition& partition,
                                   ClusterCosts& costs, const FusionEdges& edges)
    : graph_(graph), device_(device), partition_(partition), costs_(costs), edges_(edges) {
  for (const StatePair& state : graph.states()) states_.insert(partition.layouts().block(state.input));
}

void OperandRecompute::run() {
  for (const int32_t cluster : partition_.clusters().order()) {
    if (!partition_.may_join(cluster)) continue;
    for (bool again = true; again;) {
      again = false;
      for (const NodeId producer : producers_of(cluster)) again = try_copy(producer, cluster) || again;
    }
  }
}

std::set<NodeId> OperandRecompute::producers_of(int32_t cluster) const {
  const std::vector<NodeId>& members = partition_.clusters().members(cluster);
  std::set<NodeId> inside(members.begin(), members.end());
  inside.insert(partition_.copies(cluster).begin(), partition_.copies(cluster).end());
  std::set<NodeId> result;
  for (const NodeId id : inside)
    for (const ValueId operand : graph_.node(id).inputs)
      if (operand.valid())
        if (const NodeId producer = partition_.producer(operand);
            producer.valid() && !inside.contains(producer) && is_cheap(graph_.node(producer)))
          result.insert(producer);
  return result;
}

// Pays where the cluster's own time does not grow by more than its share of what storing the value costs.
bool OperandRecompute::try_copy(NodeId producer, int32_t cluster, ClusterCosts::Want want) {
  const ValueId value = graph_.node(producer).outputs[0];
  const StepPart part = partition_.part(cluster);
  if (partition_.part(partition_.clusters().of(producer)) != part) return false;
  if (part == StepPart::update && graph_.type(value).bytes() < kLargeBytes) return false;
  const std::optional<double> before = costs_.of(cluster).us;
  if (!before) return false;
  std::vector<NodeId> slice;
  if (!add_to_slice(producer, cluster, slice) || edges_.forbids(partition_, {cluster}, slice)) return false;
  const std::optional<double> after = costs_.of(partition_.region({cluster}, slice), want).us;
  if (!after) return false;
  if (want == ClusterCosts::Want::profit && *after > *before + kPatience * share_of_storing(value)) return false;
  for (const NodeId id : slice) {
    partition_.copy_into(id, cluster);
    costs_.forget(partition_.clusters().of(id));
  }
  costs_.set(cluster, *after);
  return true;
}

// The node and what else must be computed so that only values that lie in memory are read: nothing new is stored.
bool OperandRecompute::add_to_slice(NodeId id, int32_t cluster, std::vector<NodeId>& slice) const {
  if (std::ranges::count(slice, id) != 0) return true;
  if (!is_cheap(graph_.node(id)) || slice.size() >= kMaxSlice) return false;
  slice.push_back(id);
  return std::ranges::all_of(graph_.node(id).inputs, [&](ValueId operand) {
    if (!operand.valid()) return true;
    if (states_.contains(partition_.layouts().block(operand))) return false;  // it may have its new value by then
    if (partition_.is_stored(operand)) return true;
    const NodeId producer = partition_.producer(operand);
    return partition_.computes(cluster, producer) || add_to_slice(producer, cluster, slice);
  });
}

// Predicted µs of writing a value per kernel that reads it; nothing where it is stored in any case: for the graph's
// caller, for another part of the step, for a kernel that computes nothing again.
double OperandRecompute::share_of_storing(ValueId value) const {
  if (graph_.value(value).uses.size() > kMaxReaders || partition_.is_kept(value)) return 0;
  const StepPart made = partition_.part(partition_.clusters().of(partition_.producer(value)));
  const auto may_do_without = [&](int32_t reader) {
    return partition_.may_join(reader) && partition_.part(reader) == made;
  };
  const std::set<int32_t> readers = partition_.readers(value);
  if (readers.empty() || !std::ranges::all_of(readers, may_do_without)) return 0;
  return static_cast<double>(graph_.type(value).bytes()) / device_.bytes_per_us / static_cast<double>(readers.size());
}

}  // namespace stepc
