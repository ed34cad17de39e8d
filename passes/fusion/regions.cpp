#include "passes/fusion/regions.h"

#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/fusion/edges.h"
#include "passes/fusion/epilogue.h"
#include "passes/fusion/losses.h"
#include "passes/fusion/partition.h"
#include "passes/fusion/region_costs.h"
#include "passes/fusion/step_part.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace stepc {
namespace {

// Nodes that are computed again so that one value need not be read.
constexpr size_t kMaxSlice = 16;
// A value that is nowhere stored frees memory too: worth a little more time than storing it.
constexpr double kPatience = 1.0625;
// Kernels that share an operand are joined for its sake from this size on, where at most so many read it.
constexpr int64_t kSharedBytes = 1 << 16;
constexpr size_t kMaxSharing = 8;

bool may_join(const Node& node) {
  switch (op_def(node.op).kind) {
    case OpKind::pointwise:
    case OpKind::view:
    case OpKind::reduction: return node.op != Op::cumsum && node.op != Op::top_k;
    case OpKind::source: return node.op == Op::random;
    case OpKind::movement:
      return node.op == Op::concat || node.op == Op::pad || node.op == Op::gather || node.op == Op::gather_elements ||
             node.op == Op::gather_nd;
    default: return false;
  }
}

// Its element costs a few operations and no walk over others.
bool is_cheap(const Node& node) {
  const OpKind kind = op_def(node.op).kind;
  return kind == OpKind::pointwise || kind == OpKind::view || node.op == Op::concat || node.op == Op::pad;
}

class RegionFuser {
 public:
  RegionFuser(Graph& graph, const DeviceSpec& device, std::span<const FusionOverride> overrides)
      : graph_(graph),
        device_(device),
        partition_(graph),
        region_costs_(graph, partition_.layouts(), device),
        edges_(graph, partition_, overrides) {
    for (const StatePair& state : graph.states()) states_.insert(partition_.layouts().block(state.input));
  }

  bool run() {
    join_losses(graph_, partition_, verdicts_);
    join_forced();
    join_producers();
    join_epilogues();
    recompute_operands();
    join_sharing();
    recompute_operands();
    return rewrite();
  }

  std::vector<FusionVerdict> take_verdicts() { return std::move(verdicts_); }

 private:
  // Whether a join must pay, or is wanted anyhow.
  enum class Want : uint8_t { profit, forced };

  Clusters& clusters() { return partition_.clusters(); }
  const Node& node(NodeId id) const { return graph_.node(id); }
  StepPart part(int32_t cluster) { return part_of_step(node(clusters().members(cluster)[0]).origin.phase); }
  bool may_join(NodeId id) const { return id.valid() && stepc::may_join(node(id)); }
  bool may_join(int32_t cluster) {
    return std::ranges::all_of(clusters().members(cluster), [&](NodeId id) { return stepc::may_join(node(id)); });
  }

  // Of the kernel of a region, if there is one and it is wanted.
  std::optional<double> cost(const Region& region, std::string& why_not, Want want = Want::profit) {
    const RegionCosts::Cost& cost = region_costs_.of(region);
    if (cost.us && (cost.why_not.empty() || want == Want::forced)) return cost.us;
    why_not = cost.why_not;
    return std::nullopt;
  }

  // What the cluster costs as it is; a node that is no loop nest by itself cannot be joined.
  std::optional<double> cost_of(int32_t cluster) {
    const auto known = costs_.find(cluster);
    if (known != costs_.end()) return known->second;
    std::string ignored;
    return costs_[cluster] = cost(partition_.region({cluster}), ignored);
  }

  bool try_join(int32_t producer, int32_t consumer, std::string& why_not, Want want = Want::profit) {
    if (edges_.forbid(partition_, {producer, consumer})) return why_not = "an edge between them is forbidden", false;
    if (part(producer) != part(consumer)) return why_not = "another part of the step", false;
    if (part(producer) == StepPart::update && !joins_in_update(producer, consumer))
      return why_not = "states are written in place", false;
    const std::optional<double> first = cost_of(producer), second = cost_of(consumer);
    if (!first || !second) return why_not = "no loop nest by itself", false;
    if (*first == 0 || *second == 0) return why_not = "nobody reads it", false;
    const std::optional<double> joint = cost(partition_.region({producer, consumer}), why_not, want);
    if (!joint) return false;
    if (want == Want::profit && *joint > *first + *second) return why_not = "the joint kernel would take longer", false;
    switch (partition_.merge(producer, consumer)) {
      case Clusters::Merge::cycle: return why_not = "a path through another kernel joins them too", false;
      case Clusters::Merge::too_far: return why_not = "too far apart", false;
      case Clusters::Merge::done: break;
    }
    costs_.erase(producer);
    costs_.erase(consumer);
    costs_[clusters().members(producer).empty() ? consumer : producer] = joint;
    return true;
  }

  // A state is overwritten element by element (ir/in_place.h): maps of one shape, and the sum that ends a chain.
  bool joins_in_update(int32_t producer, int32_t consumer) {
    const auto is_map = [&](int32_t cluster, const Shape& shape) {
      return std::ranges::all_of(clusters().members(cluster), [&](NodeId id) {
        return op_def(node(id).op).kind == OpKind::pointwise && graph_.shape(node(id).outputs[0]) == shape;
      });
    };
    const std::vector<NodeId>& last = clusters().members(consumer);
    const Shape& shape = graph_.shape(node(clusters().members(producer)[0]).outputs[0]);
    if (!is_map(producer, shape)) return false;
    if (is_map(consumer, shape)) return true;
    return last.size() == 1 && op_def(node(last[0]).op).kind == OpKind::reduction &&
           partition_.region({producer, consumer}).results.size() == 1;
  }

  bool together(const FusionEdge& edge) { return partition_.computes(clusters().of(edge.consumer), edge.producer); }

  // Empty where both ends are nodes of regions.
  std::string own_kind(const FusionEdge& edge) const {
    const bool first = may_join(edge.producer), second = may_join(edge.consumer);
    if (first && second) return {};
    if (!first && !second) return "both are kernels of their own kinds";
    return fmt::format("the {} is a kernel of its own kind", first ? "consumer" : "producer");
  }

  // Joins the two ends, or computes the producer again in the consumer; what cannot be is the user's to know.
  void join_forced() {
    for (FusionEdge& edge : edges_.all()) {
      if (edge.rule != EdgeRule::forced || together(edge)) continue;
      if (join_as_epilogue(edge)) continue;
      if (const std::string reason = own_kind(edge); !reason.empty())
        user_error("{}: {} cannot be fused: {}", edge.where, edges_.text(edge),
                   edge.reason.empty() ? reason : edge.reason);
      const int32_t producer = clusters().of(edge.producer), consumer = clusters().of(edge.consumer);
      if (!try_join(producer, consumer, edge.reason, Want::forced) &&
          !(is_cheap(node(edge.producer)) && try_recompute(edge.producer, consumer, Want::forced)))
        user_error("{}: {} cannot be fused: {}", edge.where, edges_.text(edge), edge.reason);
    }
  }

  void join_producers() {
    for (FusionEdge& edge : edges_.all()) {
      if (edge.rule == EdgeRule::forbidden || together(edge)) continue;
      edge.reason = own_kind(edge);
      if (edge.reason.empty()) try_join(clusters().of(edge.producer), clusters().of(edge.consumer), edge.reason);
    }
  }

  // Additions that would be a kernel of their own go to the contraction before them.
  void join_epilogues() {
    for (FusionEdge& edge : edges_.all())
      if (edge.rule == EdgeRule::none && !together(edge)) join_as_epilogue(edge);
  }

  bool join_as_epilogue(FusionEdge& edge) {
    if (node(edge.producer).op != Op::contraction || node(edge.consumer).op != Op::add) return false;
    const int32_t contraction = clusters().of(edge.producer), reader = clusters().of(edge.consumer);
    if (edges_.forbid(partition_, {contraction, reader}))
      return edge.reason = "an edge between them is forbidden", false;
    if (std::optional<std::string> why_not = why_no_epilogue(graph_, partition_, edge.producer, reader)) {
      edge.reason = std::move(*why_not);
      return false;
    }
    costs_.erase(contraction);
    costs_.erase(reader);
    return true;
  }

  // Computes in each cluster what it can make from what it reads anyway, so that nobody needs to store it.
  void recompute_operands() {
    for (const int32_t cluster : clusters().order()) {
      if (!may_join(cluster)) continue;
      for (bool again = true; again;) {
        again = false;
        for (const NodeId producer : producers_of(cluster)) again = try_recompute(producer, cluster) || again;
      }
    }
  }

  std::set<NodeId> producers_of(int32_t cluster) {
    std::set<NodeId> inside(clusters().members(cluster).begin(), clusters().members(cluster).end());
    inside.insert(partition_.copies(cluster).begin(), partition_.copies(cluster).end());
    std::set<NodeId> result;
    for (const NodeId id : inside)
      for (const ValueId operand : node(id).inputs)
        if (operand.valid())
          if (const NodeId producer = partition_.producer(operand);
              producer.valid() && !inside.contains(producer) && is_cheap(node(producer)))
            result.insert(producer);
    return result;
  }

  // Pays where the cluster's own time does not grow by more than its share of what storing the value costs.
  bool try_recompute(NodeId producer, int32_t cluster, Want want = Want::profit) {
    if (part(clusters().of(producer)) != part(cluster)) return false;
    // The scalars of a step are read by every update.
    if (part(cluster) == StepPart::update && graph_.type(node(producer).outputs[0]).bytes() < kSharedBytes)
      return false;
    const std::optional<double> before = cost_of(cluster);
    if (!before || *before == 0) return false;
    std::vector<NodeId> slice;
    if (!add_to_slice(producer, cluster, slice) || edges_.forbid(partition_, {cluster}, slice)) return false;
    std::string ignored;
    const std::optional<double> after = cost(partition_.region({cluster}, slice), ignored, want);
    if (!after) return false;
    if (want == Want::profit && *after > *before + kPatience * share_of_storing(node(producer).outputs[0]))
      return false;
    for (const NodeId id : slice) {
      partition_.copy_into(id, cluster);
      costs_.erase(clusters().of(id));
    }
    costs_[cluster] = after;
    return true;
  }

  // The node and what else must be computed so that only values that lie in memory are read: nothing new is stored.
  bool add_to_slice(NodeId id, int32_t cluster, std::vector<NodeId>& slice) const {
    if (!is_cheap(node(id)) || slice.size() > kMaxSlice) return false;
    if (std::ranges::count(slice, id) != 0) return true;
    slice.push_back(id);
    return std::ranges::all_of(node(id).inputs, [&](ValueId operand) {
      if (!operand.valid()) return true;
      if (states_.contains(partition_.layouts().block(operand))) return false;  // it may have its new value by then
      if (partition_.is_stored(operand)) return true;
      const NodeId producer = partition_.producer(operand);
      return partition_.computes(cluster, producer) || add_to_slice(producer, cluster, slice);
    });
  }

  // Predicted µs of writing a value per kernel that reads it; nothing where it is stored in any case.
  double share_of_storing(ValueId value) {
    if (graph_.value(value).uses.size() > kMaxSharing) return 0;
    const std::set<int32_t> readers = partition_.readers(value);
    if (readers.empty() || !std::ranges::all_of(readers, [&](int32_t reader) { return may_join(reader); })) return 0;
    return static_cast<double>(graph_.type(value).bytes()) / device_.bytes_per_us / static_cast<double>(readers.size());
  }

  // Kernels that read one large value and do not wait for each other.
  void join_sharing() {
    const auto share = [&](ValueId value) {
      if (graph_.type(value).bytes() < kSharedBytes) return;
      std::set<int32_t> readers = partition_.readers(value);
      std::erase_if(readers, [&](int32_t reader) { return !may_join(reader) || part(reader) == StepPart::update; });
      if (readers.size() < 2 || readers.size() > kMaxSharing) return;
      std::vector<int32_t> ordered(readers.begin(), readers.end());
      std::ranges::sort(ordered, {}, [&](int32_t cluster) { return clusters().position(cluster); });
      std::string ignored;
      for (size_t i = 1; i < ordered.size(); ++i)
        if (try_join(ordered[i - 1], ordered[i], ignored) && clusters().members(ordered[i]).empty())
          ordered[i] = ordered[i - 1];  // the larger one's number is the joint cluster's
    };
    for (const GraphInput& input : graph_.inputs()) share(input.value);
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id))
      if (!partition_.layouts().is_alias(node(id)))
        for (const ValueId output : node(id).outputs) share(output);
  }

  bool rewrite() {
    std::ranges::move(edges_.verdicts(partition_), std::back_inserter(verdicts_));
    const std::vector<int32_t> order = clusters().order();
    Outliner outliner(graph_);
    bool changed = false;
    for (const int32_t cluster : order) {
      const std::vector<NodeId>& members = clusters().members(cluster);
      const bool several = members.size() + partition_.copies(cluster).size() > 1;
      changed = changed || several;
      if (several)
        outlines_.push_back(partition_.outline(cluster));
      else
        outlines_.push_back({members, {}, {}});
    }
    if (!changed) return false;
    for (const Outline& outline : outlines_) {
      if (!outline.results.empty())
        outliner.add(outline);
      else
        for (const NodeId member : outline.nodes) graph_.move_before(member, kNoNode);
    }
    outliner.finish();
    return true;
  }

  Graph& graph_;
  const DeviceSpec& device_;
  Partition partition_;
  RegionCosts region_costs_;
  FusionEdges edges_;
  std::vector<FusionVerdict> verdicts_;
  std::set<ValueId> states_;                        // their blocks
  std::map<int32_t, std::optional<double>> costs_;  // predicted µs of the clusters as they are
  std::vector<Outline> outlines_;
};

}  // namespace

bool fuse_regions(Graph& graph, const DeviceSpec& device, std::span<const FusionOverride> overrides,
                  std::vector<FusionVerdict>& verdicts) {
  RegionFuser fuser(graph, device, overrides);
  const bool changed = fuser.run();
  std::ranges::move(fuser.take_verdicts(), std::back_inserter(verdicts));
  return changed;
}

}  // namespace stepc
