#include "ir/builder.h"
#include "ir/einsum.h"
#include "passes/analysis/saved.h"
#include "passes/analysis/saved_listing.h"
#include "passes/autodiff.h"
#include "passes/pipelines.h"
#include "passes/runner.h"

#include <algorithm>

namespace stepc {
namespace {

// --- contractions as PyTorch runs them

// One operand in the form of torch.bmm, [batch, .., ..], or torch.mm without batch labels: the labels of each role are
// flattened into one axis. Two groups keep the order that they have in the operand.
struct BmmOperand {
  ValueId value;
  std::string labels;
};

BmmOperand bmm_operand(Builder& b, ValueId value, const std::string& own, const Einsum& einsum, LabelRole free) {
  const auto role_of = [&](char label) { return std::ranges::find(einsum.labels, label, &EinsumLabel::label)->role; };
  const bool contracted_first = std::ranges::find_if(own, [&](char c) { return role_of(c) == LabelRole::k; }) <
                                std::ranges::find_if(
                                    own, [&](char c) { return role_of(c) == free; });
  const std::pair groups = contracted_first ? std::pair(LabelRole::k, free) : std::pair(free, LabelRole::k);

  std::vector<int64_t> perm;
  Dims flat;
  std::string labels;
  const auto append = [&](LabelRole role, bool always) {
    int64_t size = 1;
    // Batch labels in the order of the result, so that both operands agree.
    for (const EinsumLabel& label : einsum.labels) {
      if (label.role != role) continue;
      perm.push_back(static_cast<int64_t>(own.find(label.label)));
      size *= label.size;
    }
    if (!always && einsum.with_role(role).empty()) return;
    flat.push_back(size);
    labels += role == LabelRole::batch ? 'b' : role == LabelRole::m ? 'm' : role == LabelRole::n ? 'n' : 'k';
  };
  append(LabelRole::batch, /*always=*/false);
  append(groups.first, /*always=*/true);
  append(groups.second, /*always=*/true);
  return {b.reshape(b.transpose(value, std::move(perm)), Shape(std::move(flat))), labels};
}

// Replaces a contraction by views of its operands, bmm or mm, and a view of the result.
void to_bmm(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Einsum einsum =
      bind_einsum(parse_einsum(node.attrs.text("spec")), graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
  if (!einsum.with_role(LabelRole::sum_a).empty() || !einsum.with_role(LabelRole::sum_b).empty()) return;
  Builder b(graph, node.origin, id);
  const BmmOperand left = bmm_operand(b, node.inputs[0], einsum.spec.a, einsum, LabelRole::m);
  const BmmOperand right = bmm_operand(b, node.inputs[1], einsum.spec.b, einsum, LabelRole::n);
  const std::string result = einsum.with_role(LabelRole::batch).empty() ? "mn" : "bmn";
  const ValueId product = b.make(Op::contraction, {left.value, right.value},
                                 with_spec(node.attrs, left.labels + "," + right.labels + "->" + result));

  std::string grouped;
  Dims dims;
  for (const LabelRole role : {LabelRole::batch, LabelRole::m, LabelRole::n})
    for (const EinsumLabel& label : einsum.with_role(role)) {
      grouped += label.label;
      dims.push_back(label.size);
    }
  std::vector<int64_t> perm;
  for (const char label : einsum.spec.result) perm.push_back(static_cast<int64_t>(grouped.find(label)));
  const ValueId restored = b.transpose(b.reshape(product, Shape(std::move(dims))), std::move(perm));
  graph.replace_uses(node.outputs[0], restored);
  graph.erase(id);
}

// --- what each formula reads

// What the gradient reads of the forward: operands of the new backward nodes that lead to it, in the order of their
// making.
std::vector<ValueId> forward_reads(const Graph& graph, ValueId gradient, int32_t first_new) {
  const auto is_new = [&](ValueId value) {
    const Value& v = graph.value(value);
    return v.producer.index >= first_new && graph.node(v.producer).origin.phase == Phase::backward;
  };
  std::vector<NodeId> found;
  std::vector<ValueId> pending{gradient};
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    if (!value.valid() || !is_new(value) || std::ranges::count(found, graph.value(value).producer) > 0) continue;
    found.push_back(graph.value(value).producer);
    const std::vector<ValueId>& inputs = graph.node(found.back()).inputs;
    pending.insert(pending.end(), inputs.begin(), inputs.end());
  }
  std::ranges::sort(found);
  std::vector<ValueId> reads;
  for (const NodeId id : found)
    for (const ValueId input : graph.node(id).inputs)
      if (input.valid() && !is_new(input) && std::ranges::count(reads, input) == 0) reads.push_back(input);
  return reads;
}

// One op of the forward with what its formulas read, in the order of the reverse sweep.
struct OpReads {
  NodeId op;
  std::vector<ValueId> values;
};

}  // namespace

SavedListing eager_saved_tensors(const Graph& imported, const TrainOptions& options) {
  Graph graph = imported.clone();
  PassContext context(options);
  run_passes(graph, eager_pipeline(), context, {.measure = false});
  for (const NodeId id : graph.order())
    if (graph.node(id).op == Op::contraction) to_bmm(graph, id);

  std::vector<OpReads> sweep;
  differentiate(graph, context, [&](NodeId op, ValueId gradient, int32_t first_new) {
    if (sweep.empty() || sweep.back().op != op) sweep.push_back({op, {}});
    for (const ValueId value : forward_reads(graph, gradient, first_new))
      if (std::ranges::count(sweep.back().values, value) == 0) sweep.back().values.push_back(value);
  });

  const Layouts layouts(graph);
  SavedListingBuilder builder(graph, layouts);
  std::vector<std::vector<std::string>> blocks(sweep.size());
  for (size_t i = sweep.size(); i-- > 0;) {
    const Node& node = graph.node(sweep[i].op);
    for (const ValueId value : sweep[i].values)
      if (may_be_saved(graph, layouts, value))
        blocks[i].push_back(builder.add(value, std::string(op_name(node.op)), &node.origin));
  }
  SavedListing listing = std::move(builder).finish();
  for (const std::vector<std::string>& loads : blocks)
    listing.loads.insert(listing.loads.end(), loads.begin(), loads.end());
  return listing;
}

}  // namespace stepc
