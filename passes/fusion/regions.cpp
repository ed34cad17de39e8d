#include "passes/fusion/regions.h"

#include "ir/op_def.h"
#include "ir/support/error.h"
#include "passes/analysis/layers.h"
#include "passes/fusion/cluster_costs.h"
#include "passes/fusion/edges.h"
#include "passes/fusion/epilogue.h"
#include "passes/fusion/loss_with_gradients.h"
#include "passes/fusion/operand_recompute.h"
#include "passes/fusion/partition.h"
#include "passes/fusion/region_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace stepc {
namespace {

// Kernels that share an operand are joined for its sake from this size on, where at most so many read it.
constexpr int64_t kSharedBytes = 1 << 16;
constexpr size_t kMaxSharing = 8;
constexpr const char* kForbidden = "an edge between them is forbidden";

class RegionFuser {
 public:
  RegionFuser(Graph& graph, const DeviceSpec& device, std::span<const FusionOverride> overrides)
      : graph_(graph),
        partition_(graph),
        costs_(graph, partition_, device),
        edges_(graph, partition_, overrides),
        recompute_(graph, device, partition_, costs_, edges_) {}

  bool run() {
    join_losses_with_gradients(graph_, partition_, verdicts_);
    join_forced();
    join_producers();
    join_epilogues();
    recompute_.run();
    join_sharing();
    recompute_.run();
    return rewrite();
  }

  std::vector<FusionVerdict> take_verdicts() { return std::move(verdicts_); }

 private:
  using Want = ClusterCosts::Want;

  const Clusters& clusters() const { return partition_.clusters(); }
  const Node& node(NodeId id) const { return graph_.node(id); }
  bool may_join(NodeId id) const { return id.valid() && stepc::may_join(node(id)); }

  Refusal try_join(int32_t producer, int32_t consumer, Want want = Want::profit) {
    if (edges_.forbids(partition_, {producer, consumer})) return kForbidden;
    const StepPart part = partition_.part(producer);
    if (partition_.part(consumer) != part) return "another part of the step";
    if (part == StepPart::update && !joins_in_update(producer, consumer))
      return "of the update, maps of one shape and a sum at their end share a kernel";
    const ClusterCosts::Cost &first = costs_.of(producer), &second = costs_.of(consumer);
    for (const ClusterCosts::Cost* own : {&first, &second})
      if (!own->us) return own->why_none;
    const ClusterCosts::Cost joint = costs_.of(partition_.region({producer, consumer}), want);
    if (!joint.us) return joint.why_none;
    if (want == Want::profit && *joint.us > *first.us + *second.us) return "the joint kernel would take longer";
    if (Refusal refusal = partition_.merge(producer, consumer)) return refusal;
    costs_.forget(producer);
    costs_.forget(consumer);
    costs_.set(clusters().members(producer).empty() ? consumer : producer, *joint.us);
    return std::nullopt;
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
      const Refusal refusal = try_join(producer, consumer, Want::forced);
      if (refusal && !recompute_.try_copy(edge.producer, consumer, Want::forced))
        user_error("{}: {} cannot be fused: {}", edge.where, edges_.text(edge), *refusal);
    }
  }

  void join_producers() {
    for (FusionEdge& edge : edges_.all()) {
      if (edge.rule == EdgeRule::forbidden || together(edge)) continue;
      edge.reason = own_kind(edge);
      if (!edge.reason.empty()) continue;
      edge.reason = try_join(clusters().of(edge.producer), clusters().of(edge.consumer)).value_or("");
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
    const Refusal refusal = edges_.forbids(partition_, {contraction, reader})
                                ? kForbidden
                                : try_join_epilogue(graph_, partition_, edge.producer, reader);
    if (refusal) return edge.reason = *refusal, false;
    costs_.forget(contraction);
    costs_.forget(reader);
    return true;
  }

  // What is recomputed waits for nothing but its layer's turn in the backward. A kernel with it for two layers would be
  // both at once, and keep until their turn what remat let go.
  bool may_share_kernel(int32_t first, int32_t second) const {
    std::set<std::string_view> layers;  // that recompute
    for (const int32_t cluster : {first, second})
      for (const NodeId id : clusters().members(cluster))
        if (node(id).origin.phase == Phase::recompute) layers.insert(layer_scope(node(id).origin.scope));
    layers.erase(std::string_view());
    return layers.size() <= 1;
  }

  // Kernels that read one large value and do not wait for each other.
  void join_sharing() {
    const auto share = [&](ValueId value) {
      if (graph_.type(value).bytes() < kSharedBytes) return;
      std::set<int32_t> readers = partition_.readers(value);
      std::erase_if(readers, [&](int32_t reader) {
        return !partition_.may_join(reader) || partition_.part(reader) == StepPart::update;
      });
      if (readers.size() < 2 || readers.size() > kMaxSharing) return;
      std::vector<int32_t> ordered(readers.begin(), readers.end());
      std::ranges::sort(ordered, {}, [&](int32_t cluster) { return clusters().position(cluster); });
      for (size_t i = 1; i < ordered.size(); ++i)
        if (may_share_kernel(ordered[i - 1], ordered[i]) && !try_join(ordered[i - 1], ordered[i]) &&
            clusters().members(ordered[i]).empty())
          ordered[i] = ordered[i - 1];  // the larger one's number is the joint cluster's
    };
    for (const GraphInput& input : graph_.inputs()) share(input.value);
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id))
      if (!partition_.layouts().is_alias(node(id)))
        for (const ValueId output : node(id).outputs) share(output);
  }

  // Outlines the clusters of several nodes and puts the others between them.
  bool rewrite() {
    std::ranges::move(edges_.verdicts(partition_), std::back_inserter(verdicts_));
    struct Kernel {
      std::vector<NodeId> nodes;
      std::optional<Outline> outline;
    };
    std::vector<Kernel> kernels;
    for (const int32_t cluster : clusters().order()) {
      kernels.push_back({clusters().members(cluster), std::nullopt});
      if (kernels.back().nodes.size() + partition_.copies(cluster).size() > 1)
        kernels.back().outline = partition_.outline(cluster);
    }
    if (std::ranges::none_of(kernels, [](const Kernel& kernel) { return kernel.outline.has_value(); })) return false;
    Outliner outliner(graph_);
    for (const Kernel& kernel : kernels) {
      if (kernel.outline && !kernel.outline->results.empty())
        outliner.add(*kernel.outline);
      else  // nobody reads the results of an outline: its readers compute them, and the nodes go
        for (const NodeId id : kernel.nodes) graph_.move_before(id, kNoNode);
    }
    outliner.finish();
    return true;
  }

  Graph& graph_;
  Partition partition_;
  ClusterCosts costs_;
  FusionEdges edges_;
  OperandRecompute recompute_;
  std::vector<FusionVerdict> verdicts_;
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
